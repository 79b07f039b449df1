#include "kernels/spec/optimizer/exchange_spec.h"

#include <algorithm>

#include "graph/base/status_macros.h"
#include "graph/ops/packing.h"

namespace ampc {

absl::StatusOr<ExchangeSpec> ReadExchangeSpec(const SpecView& view) {
  ExchangeSpec spec;
  spec.first_in = std::max(0, view.In("X"));
  spec.first_out = std::max(0, view.Out("Out"));
  for (int i = 0; i < view.NumIn("X"); ++i) {
    const TensorDesc& x = view.InDesc("X", i);
    AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32}));
    spec.types.push_back(x.dtype);
    spec.elements.push_back(x.NumElements());
    spec.offsets.push_back(spec.total);
    spec.total += PackedElements(x.NumElements());
  }
  spec.average = view.op().GetBool("average");
  spec.bucket = view.op().GetInt("bucket");
  return spec;
}

}  // namespace ampc
