#include "runtime/convert/measure_executor.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/op_record.h"
#include "kernels/tensor_desc.h"
#include "runtime/convert/sizes.h"
#include "runtime/exec/observer.h"
#include "runtime/feed_words.h"
#include "runtime/feeds.h"
#include "runtime/made_feeds.h"
#include "runtime/session.h"

namespace ampc {
namespace {

// Storage of float values during a run is f32, whatever their type.
class ValueObserver : public StepObserver {
 public:
  explicit ValueObserver(const ProgramExecutor::OnValue& on_value) : on_value_(on_value) {}
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) {
      if (StorageType(v.desc.dtype) != DType::kF32 || v.data == nullptr) continue;
      on_value_(v.var->exported(), absl::MakeConstSpan(static_cast<const float*>(v.data), static_cast<size_t>(v.desc.NumElements())));
    }
    return absl::OkStatus();
  }

 private:
  const ProgramExecutor::OnValue& on_value_;
};

double WeightBytes(const Program& program) {
  double bytes = 0;
  ForEachVar(program, [&bytes](const Var& var) { bytes += var.weight == nullptr ? 0 : static_cast<double>(var.weight->bytes); });
  return bytes;
}

double Flops(const Program& program) {
  double flops = 0;
  ForEachOp(program, [&flops](const Op& op) { flops += CostOf(op).flops; });
  return flops;
}

absl::Status RunOnce(const Session& session, const TensorMap& feeds, const ProgramExecutor::OnValue& on_value) {
  for (const auto& [name, tensor] : feeds) {
    if (tensor.dtype() == DType::kF32) on_value(name, tensor.values<float>());
  }
  ValueObserver observer(on_value);
  return session.Run(feeds, observer).status();
}

}  // namespace

absl::StatusOr<FeedOptions> FeedOptionsOf(const ConvertOptions& options) {
  return ParseFeedWords({.dims = options.feed_dims, .mean = options.mean, .deviation = options.deviation, .channels = options.channels});
}

absl::Status MeasureExecutor::RunOnMade(const Program& program, int runs, int choice, const OnValue& on_value, Made* made) const {
  made->last = choice + 1 >= kMadeSizes;
  if (const double bytes = WeightBytes(program); bytes > kMostProbeBytes) {
    made->left_out = absl::StrFormat("the model has %.0f MB of weights, a probe at most %.0f MB", bytes / 1e6, kMostProbeBytes / 1e6);
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(MadeFeeds first, MakeFeeds(program, {.size = choice, .dims = feeds_.dims}));
  made->kinds = std::move(first.kinds);
  AMPC_ASSIGN_OR_RETURN(Program fixed, WithMadeDims(program, choice, feeds_.dims));
  if (const double flops = Flops(fixed); flops > kMostProbeFlops) {
    made->left_out = absl::StrFormat("a run is %.0f GFLOP, of a probe at most %.0f GFLOP", flops / 1e9, kMostProbeFlops / 1e9);
    return absl::OkStatus();
  }
  // One thread: conversions are often run side by side.
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(std::move(fixed), {.threads = 1, .strict_rounding = true}));
  for (int run = 0; run < runs; ++run) {
    AMPC_ASSIGN_OR_RETURN(const MadeFeeds feeds, MakeFeeds(program, {.run = run, .size = choice, .dims = feeds_.dims}));
    AMPC_RETURN_IF_ERROR(RunOnce(session, feeds.feeds, on_value));
  }
  return absl::OkStatus();
}

absl::Status MeasureExecutor::Run(const Program& program, const std::vector<std::string>& inputs, const OnValue& on_value) const {
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(program.Clone(), {.strict_rounding = true}));
  absl::Status ran;
  const absl::Status read = ForEachRun(inputs, session.inputs(), feeds_, [&](const FeedsOfARun& run) {
    ran = Annotate(RunOnce(session, run.feeds, on_value), run.source);
    return ran;
  });
  return ran.ok() ? Annotate(read, "--calibrate") : ran;
}

}  // namespace ampc
