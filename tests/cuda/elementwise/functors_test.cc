// Every functor on the device against the CPU's: all halves through each map of one operand, and every op that may be a step of
// fused_elementwise as such a step, beside itself.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/op_registry.h"
#include "graph/ops/fused_steps.h"
#include "graph/text/printer.h"
#include "kernels/spec/elementwise_spec.h"
#include "tests/autodiff/gradient_case.h"
#include "tests/cuda/device_under_test.h"
#include "tests/cuda/kernel_compare.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace cuda {
absl::Status RegisterBinary(KernelRegistry* registry);
absl::Status RegisterCast(KernelRegistry* registry);
absl::Status RegisterElementwiseGradient(KernelRegistry* registry);
absl::Status RegisterFused(KernelRegistry* registry);
absl::Status RegisterSum(KernelRegistry* registry);
absl::Status RegisterUnary(KernelRegistry* registry);
}  // namespace cuda

namespace testing {
namespace {

using ::testing::IsEmpty;

const KernelRegistry& Kernels() {
  static const KernelRegistry* const kernels = [] {
    auto* r = new KernelRegistry;
    for (auto add : {&cuda::RegisterBinary, &cuda::RegisterCast, &cuda::RegisterElementwiseGradient, &cuda::RegisterFused,
                     &cuda::RegisterSum, &cuda::RegisterUnary}) {
      EXPECT_OK(add(r));
    }
    return r;
  }();
  return *kernels;
}

ComparedKernels Compare(const Program& program, const TensorMap& feeds) {
  ComparedKernels compared;
  static const auto* const device = new absl::StatusOr<std::shared_ptr<Device>>(DeviceUnderTest());
  EXPECT_OK(*device);
  if (device->ok()) {
    EXPECT_OK(CompareKernels(program, feeds, Kernels(), ***device, &compared));
  }
  return compared;
}

template <typename T>
HostTensor AllBits() {
  std::vector<T> all;
  for (int bits = 0; bits < 65536; ++bits) all.push_back(T::FromBits(static_cast<uint16_t>(bits)));
  return HostTensor::FromValues<T>({65536}, all);
}

// x - tanh x of small x leaves little but the error of a tanh of float, where the type has the digits or the range to show it.
bool LeavesErrors(absl::string_view op) { return op == "tanh_shrink"; }

TEST(Functors, TakeAllHalves) {
  for (const UnaryRow& row : UnaryRows()) {
    for (const DType type : {DType::kF16, DType::kBF16}) {
      if (type == DType::kBF16 && LeavesErrors(row.op)) continue;
      ASSERT_OK_AND_ASSIGN(const Program program,
                           ParseTyped(absl::StrCat("feed x : ", Name(type), " [65536]\ny = ", row.op, "(x)\nfetch y\n")));
      const ComparedKernels compared = Compare(program, {{"x", type == DType::kF16 ? AllBits<Half>() : AllBits<BFloat16>()}});
      EXPECT_EQ(compared.compared.size(), 1u) << row.op;
      EXPECT_THAT(compared.failures, IsEmpty()) << row.op << " in " << Name(type);
    }
  }
}

// A program with `def` on feeds of 37 elements and with the same op as the step of a fused one; nullopt where it may be no step.
std::optional<Program> AsStep(const OpDef& def, DType type) {
  Program program;
  Block& main = program.main();
  std::vector<Var*> feeds;
  std::unique_ptr<Op> op = main.NewOp(&def);
  for (size_t slot = 0; slot < def.inputs.size(); ++slot) {
    const std::string& name = def.inputs[slot].name;
    if (name == "Min" || name == "Max" || name == "FactorTensor" || name == "ScaleTensor") continue;
    Var* feed = main.AddVar(absl::StrCat("v", feeds.size()), VarKind::kFeed, TensorType(type, {37}));
    op->SetInputs(static_cast<int>(slot), {&feed, 1});
    feeds.push_back(feed);
  }
  if (def.outputs.empty()) return std::nullopt;
  Var* out = main.AddVar(absl::StrCat("v", feeds.size()), VarKind::kTemp, TensorType(type, {37}));
  op->SetOutputs(0, {&out, 1});
  if (const AttrDef* to = def.FindAttr("out_dtype"); to != nullptr) op->SetAttr("out_dtype", type);
  if (const AttrDef* to = def.FindAttr("dtype"); to != nullptr) op->SetAttr("dtype", type);
  if (def.name.starts_with("clip")) {
    op->SetAttr("min", -0.5f);
    op->SetAttr("max", 0.5f);
  }
  if (!ops::MayBeFusedStep(*op)) return std::nullopt;
  const std::string step = PrintOp(*op);
  main.Append(std::move(op));
  std::unique_ptr<Op> fused = main.NewOp(Ops().Find("fused_elementwise"));
  Var* result = main.AddVar("fused", VarKind::kTemp, TensorType(type, {37}));
  fused->SetInputs(0, feeds);
  fused->SetOutputs(0, {&result, 1});
  fused->SetAttr("axes", std::vector<int32_t>(feeds.size(), -1));
  fused->SetAttr("results", std::vector<int32_t>{static_cast<int32_t>(feeds.size())});
  fused->SetAttr("steps", std::vector<std::string>{step});
  fused->SetAttr("types", std::vector<std::string>{std::string(Name(type))});
  main.Append(std::move(fused));
  program.feeds = feeds;
  program.fetches = {out, result};
  return program;
}

TEST(Fused, TakesEveryOpThatMayBeAStep) {
  int steps = 0;
  for (const OpDef* def : Ops().All()) {
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
      const std::optional<Program> program = AsStep(*def, type);
      if (!program.has_value()) continue;
      ++steps;
      if (type != DType::kF16 && LeavesErrors(def->name)) continue;
      TensorMap feeds;
      for (const Var* feed : program->feeds) {
        ASSERT_OK_AND_ASSIGN(feeds[feed->name()], MakeFeed({}, *feed));
      }
      const ComparedKernels compared = Compare(*program, feeds);
      EXPECT_EQ(compared.compared.size(), 2u) << def->name << ": " << absl::StrJoin(compared.refused, "; ");
      EXPECT_THAT(compared.failures, IsEmpty()) << def->name;
    }
  }
  EXPECT_GE(steps, 3 * 110);
}

}  // namespace
}  // namespace testing
}  // namespace ampc
