#include "passes/amp/rescale/rescaled.h"

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "passes/option_text.h"

namespace ampc {
namespace {

constexpr absl::string_view kEntry = "rescaled=";
// Between the smallest and the largest f32 lie fewer.
constexpr int kMostExponent = 300;

void Multiply(int exponent, HostTensor& tensor) {
  for (float& value : tensor.mutable_values<float>()) value = std::ldexp(value, exponent);
}

// A file may say anything of its values.
bool HoldsF32(const Var& var) {
  if (var.literal != nullptr) return var.literal->dtype() == DType::kF32;
  return var.weight == nullptr || var.weight->final_dtype() == DType::kF32;
}

}  // namespace

std::string WithRescaled(std::string options, const Rescaled& rescaled) {
  std::string items;
  for (const auto& [name, exponent] : rescaled.exponents) {
    absl::StrAppend(&items, items.empty() ? "" : ",", EscapeItem(name), ":", exponent);
  }
  if (!items.empty()) absl::StrAppend(&options, options.empty() ? "" : ";", kEntry, items);
  return options;
}

Rescaled RescaledOf(const Program& program) {
  Rescaled out;
  for (absl::string_view entry : absl::StrSplit(ConversionOptions(program), ';')) {
    if (!absl::ConsumePrefix(&entry, kEntry)) continue;
    for (const absl::string_view item : absl::StrSplit(entry, ',')) {
      const size_t colon = item.rfind(':');
      int exponent = 0;
      if (colon == absl::string_view::npos || !absl::SimpleAtoi(item.substr(colon + 1), &exponent)) continue;
      if (exponent >= -kMostExponent && exponent <= kMostExponent) out.exponents.emplace(UnescapeItem(item.substr(0, colon)), exponent);
    }
  }
  return out;
}

absl::Status ScaleStored(int exponent, Var& var) {
  if (var.literal != nullptr) {
    HostTensor value = *var.literal;
    Multiply(exponent, value);
    var.literal = std::make_shared<const HostTensor>(std::move(value));
    return absl::OkStatus();
  }
  if (var.weight == nullptr) return absl::OkStatus();  // the program travels without its weights
  absl::StatusOr<HostTensor> value = LoadWeight(*var.weight, var.type.dims);
  if (!value.ok()) return Annotate(value.status(), absl::StrCat("weight '", var.name(), "'"));
  Multiply(exponent, *value);
  auto ref = std::make_unique<WeightRef>();
  ref->source = WeightBuffer(std::string(static_cast<const char*>(value->data()), value->size_bytes()));
  ref->bytes = value->size_bytes();
  ref->dtype = value->dtype();
  var.weight = std::move(ref);
  return absl::OkStatus();
}

absl::Status TakeBack(const Rescaled& rescaled, Program& program) {
  if (rescaled.exponents.empty()) return absl::OkStatus();
  for (const std::unique_ptr<Var>& var : program.main().vars()) {
    const auto it = rescaled.exponents.find(var->exported());
    if (it == rescaled.exponents.end() || var->type.dtype != DType::kF32 || !HoldsF32(*var)) continue;
    AMPC_RETURN_IF_ERROR(ScaleStored(-it->second, *var));
  }
  return absl::OkStatus();
}

}  // namespace ampc
