#include "kernels/lib/kernel_name.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace ampc::onednn {
namespace {

constexpr absl::string_view kLibrary = "onednn:", kBf16 = ":bf16";

}  // namespace

KernelName ParseName(absl::string_view name) {
  const bool bf16 = absl::EndsWith(name, kBf16);
  return {std::string(absl::StripSuffix(absl::StripPrefix(name, kLibrary), kBf16)), bf16 ? DType::kBF16 : DType::kF32};
}

std::string NameOf(const_dnnl_primitive_desc_t pd, DType type) {
  return absl::StrCat(kLibrary, ImplementationOf(pd), type == DType::kBF16 ? kBf16 : "");
}

absl::Status AddNames(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr, DType type, std::vector<std::string>* names) {
  return ForEachPrimitiveDesc(desc, attr, [&](PrimitiveDesc pd) {
    std::string name = NameOf(pd.get(), type);
    const bool known = std::find(names->begin(), names->end(), name) != names->end();
    if (!known && !absl::StrContains(name, "ref")) names->push_back(std::move(name));
    return true;
  });
}

bool ComputesInBf16() { return dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core_bf16; }

std::string TextOf(const Activation& a) {
  if (a.kind == ActivationKind::kNone && a.scale == 1 && a.shift == 0) return "";
  return absl::StrCat(" activation ", static_cast<int>(a.kind), " ", a.alpha, " ", a.beta, " ", a.scale, " ", a.shift);
}

}  // namespace ampc::onednn
