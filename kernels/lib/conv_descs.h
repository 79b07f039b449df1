// How oneDNN is told about the tensors of a convolution: for its forward and its gradient. Only kernels/lib includes this.
#pragma once

#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "graph/base/aligned.h"
#include "kernels/lib/conv.h"
#include "kernels/lib/kernel_name.h"
#include "kernels/lib/onednn_primitive.h"

namespace ampc::onednn {

// Both layouts are the same bytes.
inline bool Neutral(int64_t c, int64_t positions) { return c == 1 || positions == 1; }

using Sizes = absl::InlinedVector<dnnl_dim_t, 6>;

// One number of each axis.
template <typename F>
Sizes Each(const ConvSpec& s, F f) {
  Sizes sizes;
  for (const ConvSpec::Axis& a : s.axes) sizes.push_back(f(a));
  return sizes;
}

// [n, c, axes...], channels last.
absl::StatusOr<MemoryDesc> ActivationDesc(int64_t n, int64_t c, const Sizes& axes, dnnl_data_type_t type);
// The filter as oneDNN sees it: [out, in, window], or [g, out / g, in / g, window]. Row-major as MakeConv takes it, or in any order.
absl::StatusOr<MemoryDesc> FilterDesc(const ConvSpec& s, dnnl_data_type_t type, bool any);

// An operand that is stored as float32 is converted to bf16 before the run, which pays where each element is used often and fills
// the matrix unit. oneDNN's transposed convolution takes up to twenty times as long in bf16 as in float32.
inline bool Bf16Pays(const ConvSpec& s) {
  if (s.transposed) return false;
  return s.in_storage == DType::kBF16 || (s.groups == 1 && s.out_c >= 16 && (s.in_c >= 16 || s.out_c >= 32));
}

// The choice of `choose(s, type)` for bf16 if that pays and is no fallback of oneDNN, else for f32. Its `pd` is null if oneDNN has nothing
// for the shape.
template <typename Choose>
auto ChooseType(const ConvSpec& s, Choose choose) -> decltype(choose(s, dnnl_f32)) {
  if (s.native_bf16 && Bf16Pays(s) && ComputesInBf16()) {
    auto choice = choose(s, dnnl_bf16);
    if (!choice.ok()) return choice;
    if (choice->pd != nullptr) {
      const std::string name = ImplementationOf(choice->pd.get());
      if (!absl::StrContains(name, "ref") && !absl::StrContains(name, "gemm")) return choice;
    }
  }
  return choose(s, dnnl_f32);
}

// Multiply-adds.
inline double Work(const ConvSpec& s) {
  return static_cast<double>(s.batch * s.out_c * s.out_positions()) * static_cast<double>(s.in_c / s.groups * s.window());
}

}  // namespace ampc::onednn
