#include "kernels/spec/product/linear_spec.h"

#include <string>

namespace ampc {
namespace {

LinearSpec Read(const SpecView& view, const std::string& function) {
  const Dims &x = view.InDesc("X").dims, &y = view.InDesc("Y").dims;
  LinearSpec s;
  onednn::MatmulSpec& p = s.product;
  p.trans_a = view.op().GetBool("trans_x");
  p.trans_b = view.op().GetBool("trans_y");
  p.k = p.trans_a ? x[0] : x.back();
  p.m = onednn::Product(p.trans_a ? absl::MakeConstSpan(x).subspan(1) : absl::MakeConstSpan(x).first(x.size() - 1));
  p.n = y[p.trans_b ? 0 : 1];
  p.native_bf16 = view.InDesc("X").dtype == DType::kBF16;
  p.threads = view.spec().threads;
  if (function == "relu") s.function = ActivationKind::kRelu;
  if (function == "gelu") s.function = ActivationKind::kGeluTanh;
  return s;
}

void SetRows(const Dims& dims, const TensorDesc* reserve, LinearSpec* s) {
  s->cols = dims.back();
  s->rows = onednn::Product(absl::MakeConstSpan(dims).first(dims.size() - 1));
  if (reserve != nullptr) s->reserve_row = reserve->dims.back();
}

}  // namespace

LinearSpec ReadLinear(const SpecView& view) {
  LinearSpec s = Read(view, view.op().GetString("activation", "none"));
  SetRows(view.OutDesc("Out").dims, view.Out("ReserveSpace") < 0 ? nullptr : &view.OutDesc("ReserveSpace"), &s);
  return s;
}

LinearSpec ReadLinearGradient(const SpecView& view) {
  const std::string name = view.op().GetString("activation_grad", "none");
  LinearSpec s = Read(view, name.substr(0, name.find("_grad")));
  SetRows(view.InDesc("X").dims, view.In("ReserveSpace") < 0 ? nullptr : &view.InDesc("ReserveSpace"), &s);
  return s;
}

}  // namespace ampc
