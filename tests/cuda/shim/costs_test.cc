// The costs of a training step of each network of `ampc train` on the device: kernels, copies and waits of the second step, which nothing
// replays yet, and of the eighth. The numbers are those of costs.txt: what changes them shows as a difference.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/status_macros.h"
#include "graph/builder.h"
#include "graph/initializer.h"
#include "passes/autodiff/append_backward.h"
#include "passes/train/optimizer.h"
#include "runtime/train/decorate.h"
#include "runtime/train/trainer.h"
#include "tests/cuda/shim/shim.h"
#include "tests/testlib/status.h"
#include "tools/examples/networks/networks.h"
#include "tools/train/request.h"

namespace ampc::testing {
namespace {

constexpr int64_t kBatch = 2;

TensorMap Feeds(const NetworkInfo& info) {
  if (info.data == NetworkData::kRandom) {
    const HostTensor x = HostTensor::Create(DType::kF32, {kBatch, info.features}).value();
    return {{"x", x}, {"y", x}};
  }
  return {{"x", HostTensor::Create(DType::kF32, {kBatch, 1, 28, 28}).value()}, {"y", HostTensor::Of<int64_t>({kBatch, 1}, {1, 2})}};
}

// As tools/train/job.cc.
absl::StatusOr<Trainer> Make(const NetworkInfo& info, const std::string& level) {
  TrainRequest request;
  request.network = info.name;
  request.level = level;
  AMPC_ASSIGN_OR_RETURN(Optimizer optimizer, MakeOptimizer(request, info));
  ProgramBuilder b(info.name, 1);
  const Network net = info.build(b);
  AMPC_RETURN_IF_ERROR(b.status());
  b.Fetch(net.loss);
  const TrainerOptions options{.device = "cuda:0", .threads = 1, .loss = net.loss.var->name()};
  if (level == "O0") {
    AMPC_ASSIGN_OR_RETURN(const std::vector<VarGradient> gradients, AppendBackward(b.program(), *net.loss.var));
    AMPC_RETURN_IF_ERROR(optimizer.ApplyGradients(b.program(), b.startup(), gradients).status());
    return Trainer::Create(b.Build(), options);
  }
  amp::DecorateOptions how;
  how.level = level;
  how.use_pure_fp16 = level == "O2";
  if (level == "O2") how.use_fp16_guard = true;
  const auto decorated = amp::Decorate(std::move(optimizer), how);
  AMPC_RETURN_IF_ERROR(decorated->Minimize(b, net.loss));
  AMPC_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(b.Build(), options));
  AMPC_RETURN_IF_ERROR(decorated->AmpInit(options, trainer.scope()));
  return trainer;
}

std::string Line(const std::string& what, const ShimTraffic& t) {
  return absl::StrFormat("%-22s %5d %8d %5d %6d %12d %7d %10d %9d %5d\n", what, t.launches, t.products, t.convolutions, t.graphs,
                         t.bytes_to_device, t.bytes_to_host, t.bytes_on_device, t.bytes_filled, t.waits);
}

absl::StatusOr<std::string> CostsOf(const NetworkInfo& info, const std::string& level) {
  AMPC_ASSIGN_OR_RETURN(Trainer trainer, Make(info, level));
  const TensorMap feeds = Feeds(info);
  std::string text;
  for (int step = 1; step <= 8; ++step) {
    ResetShim();
    AMPC_RETURN_IF_ERROR(trainer.Step(feeds).status());
    if (step == 2 || step == 8) absl::StrAppend(&text, Line(absl::StrCat(info.name, " ", level, ", step ", step), TrafficOfShim()));
  }
  return text;
}

TEST(Costs, AreThoseOfTheFile) {
  SetShimComputes(false);
  std::string found = absl::StrFormat("%-22s %5s %8s %5s %6s %12s %7s %10s %9s %5s\n", "", "launch", "product", "conv", "graph",
                                      "to device", "to host", "on device", "filled", "waits");
  for (const NetworkInfo& info : Networks()) {
    for (const char* level : {"O0", "O1", "O2"}) {
      ASSERT_OK_AND_ASSIGN(const std::string lines, CostsOf(info, level));
      found += lines;
    }
  }
  std::stringstream wanted;
  wanted << std::ifstream("tests/cuda/shim/costs.txt").rdbuf();
  EXPECT_EQ(found, wanted.str()) << "if that is meant, tests/cuda/shim/costs.txt becomes:\n" << found;
}

}  // namespace
}  // namespace ampc::testing
