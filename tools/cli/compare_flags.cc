#include "tools/cli/compare_flags.h"

#include <utility>

#include "graph/base/status_macros.h"
#include "runtime/feeds.h"

namespace ampc {

void AddCompareOptions(const Options& options, CompareFlags& flags) {
  options.Add("a", flags.a, "the reference model").Required();
  options.Add("b", flags.b, "the model to judge").Required();
  AddFeedOptions(options, &flags.feeds);
  const Options verdict = options.Under("Verdict");
  options.Add("--params-a", flags.params_a, "file with the weights of the first model").Values("FILE");
  options.Add("--params-b", flags.params_b, "file with the weights of the second model").Values("FILE");
  verdict.Add("--tolerance", flags.options.of_largest, "largest allowed max rel of every output").NotNegative();
  verdict.Add("--rtol", flags.options.rtol, "each element may differ by ATOL + RTOL |a|").NotNegative();
  verdict.Add("--atol", flags.options.atol, "as --rtol").NotNegative();
  options.Flag("--outputs-only", flags.options.outputs_only, "only outputs; the models run fused, as they run otherwise");
  options.Add("--device", flags.device, "cpu, or cuda:N in a build with CUDA").ShowDefault();
  options.Add("--device-b", flags.device_b, "where the second model runs; default: --device");
  options.Add("--threads", flags.threads, "threads of one run; 0: all processors").ShowDefault();
}

SessionOptions SessionOfA(const CompareFlags& flags) {
  SessionOptions options{
      .device = flags.device, .threads = flags.threads, .strict_rounding = !flags.options.outputs_only, .params = flags.params_a};
  options.excess_precision = false;
  return options;
}

SessionOptions SessionOfB(const CompareFlags& flags) {
  SessionOptions options = SessionOfA(flags);
  options.params = flags.params_b;
  if (!flags.device_b.empty()) options.device = flags.device_b;
  return options;
}

absl::StatusOr<ModelComparison> CompareOnFeeds(const CompareFlags& flags, const ComparedModel& a, const ComparedModel& b,
                                               const std::vector<FeedsOfARun>* given, std::string* note) {
  std::vector<FeedsOfARun> of_a, of_b;
  if (flags.feeds.random) {
    ModelComparison comparison;
    AMPC_RETURN_IF_ERROR(UseFeeds(
        flags.feeds, a.session(),
        [&](const TensorMap& feeds) -> absl::Status {
          AMPC_ASSIGN_OR_RETURN(const TensorMap in_types, InTypesOf(feeds, b.session().inputs()));
          AMPC_ASSIGN_OR_RETURN(comparison, CompareModels(a, feeds, b, in_types, flags.options));
          return absl::OkStatus();
        },
        note));
    return comparison;
  }
  if (given == nullptr) {
    AMPC_ASSIGN_OR_RETURN(of_a, RunsOfFiles(flags.feeds, a.session().inputs()));
    AMPC_ASSIGN_OR_RETURN(of_b, RunsOfFiles(flags.feeds, b.session().inputs()));
  } else {
    for (const FeedsOfARun& run : *given) {
      AMPC_ASSIGN_OR_RETURN(TensorMap first, InTypesOf(run.feeds, a.session().inputs()));
      AMPC_ASSIGN_OR_RETURN(TensorMap second, InTypesOf(run.feeds, b.session().inputs()));
      of_a.push_back({run.source, std::move(first)});
      of_b.push_back({run.source, std::move(second)});
    }
  }
  return CompareRuns(a, of_a, b, of_b, flags.options);
}

}  // namespace ampc
