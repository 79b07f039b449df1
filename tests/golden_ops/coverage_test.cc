// Nothing may be missing between records, kernels and golden cases: coverage_test FILE.safetensors...
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/op_registry.h"
#include "kernels/kernel_registry.h"
#include "tests/golden_ops/golden_case.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

std::vector<std::string>* files = new std::vector<std::string>;

// Records without a CPU kernel, and why.
const std::map<absl::string_view, absl::string_view>& WithoutKernel() {
  static const auto* const kReasons = new std::map<absl::string_view, absl::string_view>{
      {"while", "the runtime runs its block"},
      {"conditional_block", "the runtime runs its block"},
      {"select_input", "the runtime takes the value of the branch that ran"},
      {"select_output", "the runtime takes the value of the branch that ran"},
      {"write_to_array", "the runtime holds tensor arrays"},
      {"read_from_array", "the runtime holds tensor arrays"},
      {"lod_array_length", "the runtime holds tensor arrays"},
      {"tensor_array_to_tensor", "the runtime holds tensor arrays"},
      {"sequence_at", "the runtime holds tensor arrays"},
      {"sequence_construct", "the runtime holds tensor arrays"},
      {"sequence_erase", "the runtime holds tensor arrays"},
      {"sequence_insert", "the runtime holds tensor arrays"},
      {"split_to_sequence", "the runtime holds tensor arrays"},
  };
  return *kReasons;
}

// Kernels for f32 that have none for f16 and bf16, and why.
const std::map<absl::string_view, absl::string_view>& Fp32Only() {
  static const auto* const kReasons = new std::map<absl::string_view, absl::string_view>{
      {"assign_value", "makes the values that the program holds, in fp32"},
      {"range", "counts in fp32"},
      {"lr_schedule", "keeps its state in fp32"},
      {"c_allreduce_finish", "sums in fp32 before it rounds"},
      {"quantized_conv2d", "multiplies integers of 8 bits; fp32 are its scales, its bias and what is not quantised again"},
      {"quantized_matmul", "multiplies integers of 8 bits; fp32 are its scales, its bias and what is not quantised again"},
  };
  return *kReasons;
}

// Ops that vision, text and speech inference use beyond the first models.
// clang-format off
constexpr absl::string_view kCommon[] = {
    "conv3d", "conv3d_transpose", "depthwise_conv2d_transpose", "group_norm", "instance_norm", "bmm", "addmm", "elementwise_mod",
    "elementwise_floordiv", "leaky_relu", "prelu", "elu", "selu", "silu", "mish", "softplus", "softsign", "rsqrt", "floor", "ceil", "round", "sin",
    "cos", "erf", "reciprocal", "log_softmax", "reduce_prod", "reduce_all", "reduce_any", "unstack", "strided_slice", "gather_nd", "scatter",
    "assign_value", "fill_constant_batch_size_like", "fill_any_like", "pad", "pad2d", "bicubic_interp_v2", "linear_interp_v2",
    "trilinear_interp_v2", "arg_min", "argsort", "top_k_v2", "one_hot_v2", "where", "where_index", "equal", "not_equal", "less_than", "less_equal",
    "greater_than", "greater_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "cumsum", "tril_triu", "meshgrid", "index_select",
    "rnn", "einsum", "multiclass_nms3", "roi_align", "yolo_box", "grid_sampler", "while", "conditional_block", "select_input", "increment",
    "write_to_array", "read_from_array", "lod_array_length",
};
// clang-format on

bool Has(const KernelEntry& entry, DType dtype) { return std::find(entry.dtypes.begin(), entry.dtypes.end(), dtype) != entry.dtypes.end(); }

TEST(Coverage, EveryRecordHasAKernelOrAReason) {
  for (const OpDef* def : Ops().All()) {
    const bool has = CpuKernels().Find(def->name) != nullptr, excused = WithoutKernel().contains(def->name);
    EXPECT_TRUE(has || excused) << def->name << " has no kernel";
    EXPECT_FALSE(has && excused) << def->name << " has a kernel now";
  }
}

TEST(Coverage, EveryKernelHasARecord) {
  for (const KernelEntry* entry : CpuKernels().All()) EXPECT_NE(Ops().Find(entry->op), nullptr) << entry->op;
}

TEST(Coverage, WhatComputesInFp32ComputesInFp16AndBf16) {
  for (const KernelEntry* entry : CpuKernels().All()) {
    if (!Has(*entry, DType::kF32)) continue;
    const bool low = Has(*entry, DType::kF16) && Has(*entry, DType::kBF16), excused = Fp32Only().contains(entry->op);
    EXPECT_TRUE(low || excused) << entry->op << " has no kernel for f16 and bf16";
    EXPECT_FALSE(low && excused) << entry->op << " has kernels for f16 and bf16 now";
  }
}

TEST(Coverage, EveryCommonOpHasARecordAndAGoldenCase) {
  ASSERT_FALSE(files->empty());
  std::set<std::string> seen;
  for (const std::string& path : *files) {
    ASSERT_OK_AND_ASSIGN(const std::vector<GoldenCase> cases, ReadGoldenFile(path));
    for (const GoldenCase& golden : cases) {
      ASSERT_OK_AND_ASSIGN(const Program program, ImportCase(golden, {}));
      ForEachOp(program, [&seen](const Op& op) { seen.insert(op.type()); });
    }
  }
  for (const absl::string_view op : kCommon) {
    EXPECT_NE(Ops().Find(op), nullptr) << op << " has no record";
    EXPECT_TRUE(seen.contains(std::string(op))) << op << " has no golden case";
  }
}

}  // namespace
}  // namespace ampc::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) ampc::testing::files->push_back(argv[i]);
  return RUN_ALL_TESTS();
}
