#include "passes/analysis/target_support.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

enum : int { kF16Bit = 1, kBF16Bit = 2, kBoth = 3 };

struct Row {
  int cuda;
  int cpu;
  absl::string_view ops;
};

// The CPU computes low types exactly as "low storage, float32 arithmetic, one rounding", so whatever it executes it
// executes in both of them. CUDA has them natively where the table says so.
constexpr Row kRows[] = {
#include "passes/analysis/target_support.inc"
};

class Table : public PrecisionSupport {
 public:
  Table(absl::string_view target, int Row::*bits) : target_(target) {
    for (const Row& row : kRows) {
      for (absl::string_view op : absl::StrSplit(row.ops, absl::ByAnyChar(" \n"), absl::SkipEmpty())) ops_[op] = row.*bits;
    }
  }

  absl::string_view target() const override { return target_; }

  bool Supports(absl::string_view op, DType compute) const override {
    if (!IsLowPrecision(compute)) return true;
    const int bit = compute == DType::kF16 ? kF16Bit : kBF16Bit;
    const auto it = ops_.find(op);
    if (it != ops_.end()) return (it->second & bit) != 0;
    const OpDef* def = onnx::FindOp(op);
    if (def == nullptr || onnx::DefOf(*def) == nullptr || !SchemaAllows(*def, compute)) return false;
    const auto own = ops_.find(absl::StrCat("onnx.", onnx::TypeName(*def)));
    if (own != ops_.end()) return (own->second & bit) != 0;
    const auto native = ops_.find(onnx::NativeName(*def));
    return native == ops_.end() ? onnx::NativeName(*def).empty() : (native->second & bit) != 0;
  }

 private:
  absl::string_view target_;
  absl::flat_hash_map<std::string, int> ops_;
};

}  // namespace

absl::StatusOr<const PrecisionSupport*> TargetSupport(absl::string_view target) {
  static const Table* const kCuda = new Table("cuda", &Row::cuda);
  static const Table* const kCpu = new Table("cpu", &Row::cpu);
  if (target == "cuda") return kCuda;
  if (target == "cpu") return kCpu;
  return UsageError(absl::StrCat("target '", target, "' is unknown, it is cuda or cpu"));
}

}  // namespace ampc
