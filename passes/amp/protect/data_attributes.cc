#include "passes/amp/protect/data_attributes.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc {
namespace {

using Use = AttributeUse;

struct Row {
  absl::string_view ops;  // native names and ONNX's types
  DataAttribute attribute;
};

constexpr Row kRows[] = {
    {"pad pad2d", {"pad_value", Use::kFills}},
    {"pad3d Pad", {"value", Use::kFills}},
    {"Resize", {"extrapolation_value", Use::kFills}},
    {"clip Clip", {"min", Use::kBounds}},
    {"clip Clip", {"max", Use::kBounds}},
    {"brelu", {"t_min", Use::kBounds}},
    {"brelu", {"t_max", Use::kBounds}},
    {"scale", {"scale", Use::kScales}},
    {"scale", {"bias", Use::kAdds}},
    {"increment", {"step", Use::kAdds}},
    {"Shrink", {"bias", Use::kAdds}},
    {"matmul Gemm", {"alpha", Use::kScales}},
    {"Gemm", {"beta", Use::kScales}},
    {"addmm", {"Alpha", Use::kScales}},
    {"addmm", {"Beta", Use::kScales}},
    {"RandomNormalLike", {"mean", Use::kFills}},
    {"RandomNormalLike", {"scale", Use::kFills}},
    {"RandomUniformLike", {"low", Use::kFills}},
    {"RandomUniformLike", {"high", Use::kFills}},
};

}  // namespace

absl::Span<const DataAttribute> DataAttributesOf(const OpDef& def) {
  static const auto* const kAttributes = [] {
    auto* all = new absl::flat_hash_map<absl::string_view, std::vector<DataAttribute>>();
    for (const Row& row : kRows) {
      for (absl::string_view op : absl::StrSplit(row.ops, ' ')) (*all)[op].push_back(row.attribute);
    }
    return all;
  }();
  // By its own type: an operator of ONNX's may have an operand where the native op that means the same has an attribute.
  const auto it = kAttributes->find(onnx::DefOf(def) == nullptr ? absl::string_view(def.name) : onnx::TypeName(def));
  return it == kAttributes->end() ? absl::Span<const DataAttribute>() : absl::MakeConstSpan(it->second);
}

}  // namespace ampc
