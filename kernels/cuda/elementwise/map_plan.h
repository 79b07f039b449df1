// Shapes of maps, planned on the host: which operands repeat along which dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/common/integer.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/elementwise/scalar_source.h"
#include "kernels/cuda/launch/elementwise.h"

namespace ampc::cuda {

// Joins dimensions and fills `shape` and the strides of `in`. `operands`: dims of the result's rank, 1 where one repeats. False when more
// than kMaxMapRank dimensions remain.
bool PlanMap(absl::Span<const std::vector<int64_t>> operands, absl::Span<const int64_t> out, MapShape* shape, absl::Span<MapOperand> in);

// A map whose operands have the result's very dims: the flat inputs `from`, to result `to`.
template <int kIn>
MapParams<kIn> PlanSame(const KernelSpec& spec, const int (&from)[kIn], int to) {
  MapParams<kIn> p;
  p.shape.n = spec.outputs[to].NumElements();
  for (int i = 0; i < kIn; ++i) p.in[i].dtype = spec.inputs[from[i]].dtype;
  p.out.dtype = spec.outputs[to].dtype;
  return p;
}

// A map of the flat inputs 0 and 1 to result 0, broadcast by attribute `axis`.
absl::Status PlanBinary(const SpecView& view, MapParams<2>* p);

// Operands of the types' class, which is that of the result; Unsupported for others.
absl::Status CheckClass(const SpecView& view, DType operand, DType result);

// A parameter in an attribute or a one-element operand.
class DeviceScalar {
 public:
  DeviceScalar() = default;
  DeviceScalar(const SpecView& view, absl::string_view slot, double fallback);
  explicit DeviceScalar(double fixed) : DeviceScalar() { Fix(fixed, integer::FromFloat<int64_t>(fixed)); }
  bool is_fixed() const { return flat_ < 0; }
  ScalarSource At(const KernelArgs& args) const {
    ScalarSource source = source_;
    if (flat_ >= 0) source.data = args.inputs[flat_];
    return source;
  }
  double fixed() const { return source_.fixed; }

 private:
  void Fix(double real, int64_t integer) {
    source_.fixed = real;
    source_.fixed_integer = integer;
  }

  ScalarSource source_;
  int flat_ = -1;
};

}  // namespace ampc::cuda
