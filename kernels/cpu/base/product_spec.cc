#include "kernels/cpu/base/product_spec.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/ops/fused_moves.h"
#include "kernels/lib/activation.h"

namespace ampc {
namespace {

using onednn::MatmulSpec;
using onednn::Product;

// A vector multiplies as a row from the left and as a column from the right; its transposition flag means nothing.
MatmulSpec ReadStacks(Dims x, Dims y, bool trans_x, bool trans_y) {
  MatmulSpec s;
  s.trans_a = trans_x && x.size() > 1;
  s.trans_b = trans_y && y.size() > 1;
  if (x.size() == 1) x.insert(x.begin(), 1);
  if (y.size() == 1) y.push_back(1);
  s.m = x[x.size() - (s.trans_a ? 1 : 2)];
  s.k = x[x.size() - (s.trans_a ? 2 : 1)];
  s.n = y[y.size() - (s.trans_b ? 2 : 1)];
  s.a_batch.assign(x.begin(), x.end() - 2);
  s.b_batch.assign(y.begin(), y.end() - 2);
  for (std::vector<int64_t>* batch : {&s.a_batch, &s.b_batch}) {
    batch->insert(batch->begin(), std::max(x.size(), y.size()) - 2 - batch->size(), 1);
  }
  return s;
}

MatmulSpec ReadMul(const Op& op, const Dims& x, const Dims& y) {
  const size_t nx = static_cast<size_t>(op.GetInt("x_num_col_dims", 1)), ny = static_cast<size_t>(op.GetInt("y_num_col_dims", 1));
  MatmulSpec s;
  s.m = Product(absl::MakeConstSpan(x).first(nx));
  s.k = Product(absl::MakeConstSpan(x).subspan(nx));
  s.n = Product(absl::MakeConstSpan(y).subspan(ny));
  return s;
}

// Row by row the product of a row and a column.
MatmulSpec ReadDot(const Dims& x) {
  MatmulSpec s;
  s.m = s.n = 1;
  s.k = x.back();
  s.a_batch = s.b_batch = {Product(absl::MakeConstSpan(x).first(x.size() - 1))};
  return s;
}

}  // namespace

absl::StatusOr<MatmulSpec> ReadFc(const SpecView& view) {
  const Dims& x = view.InDesc("Input").dims;
  const Dims& w = view.InDesc("W").dims;
  const size_t n = static_cast<size_t>(view.op().GetInt("in_num_col_dims", 1));
  MatmulSpec s;
  s.m = Product(absl::MakeConstSpan(x).first(n));
  s.k = Product(absl::MakeConstSpan(x).subspan(n));
  s.n = view.OutDesc("Out").dims.back();
  if (s.n != w[1]) s.b_row = w[1];  // padding_weights
  s.has_bias = view.In("Bias") >= 0;
  AMPC_ASSIGN_OR_RETURN(s.activation, ReadActivation(view.op()));
  s.native_bf16 = view.InDesc("Input").dtype == DType::kBF16;
  s.a_storage = view.InDesc("Input").storage();
  s.b_storage = view.InDesc("W").storage();
  s.out_storage = view.OutDesc("Out").storage();
  s.threads = view.spec().threads;
  s.choices = view.spec().choices;
  return s;
}

ProductAddend ReadAddend(const SpecView& view) {
  const Dims &in = view.InDesc("Input").dims, &out = view.OutDesc("Out").dims;
  const int64_t rows = in.size() > 1 ? in[0] : 1, cols = in.back();
  return {static_cast<float>(view.op().GetFloat("Beta", 1)), rows == 1 ? 0 : cols, cols == 1 && out[1] != 1 ? 0 : 1};
}

std::vector<int64_t> BatchOf(const MatmulSpec& s) {
  std::vector<int64_t> batch = s.a_batch;
  for (size_t i = 0; i < batch.size(); ++i) batch[i] = std::max(batch[i], s.b_batch[i]);
  return batch;
}

MatmulSpec GradientOfA(const MatmulSpec& s) {
  MatmulSpec t = s;
  t.a_batch = BatchOf(s);
  t.k = s.n;
  t.m = s.m;
  t.n = s.k;
  t.trans_a = false;
  t.trans_b = !s.trans_b;
  if (!s.trans_a) return t;
  std::swap(t.a_batch, t.b_batch);
  std::swap(t.m, t.n);
  t.trans_a = s.trans_b;
  t.trans_b = true;
  return t;
}

void JoinRows(MatmulSpec& s) {
  if (s.trans_a || Product(s.b_batch) != 1) return;
  s.m *= Product(s.a_batch);
  s.a_batch.clear();
  s.b_batch.clear();
}

MatmulSpec GradientOfB(const MatmulSpec& s) {
  MatmulSpec t = s;
  t.b_batch = BatchOf(s);
  t.k = s.m;
  t.m = s.k;
  t.n = s.n;
  t.trans_a = !s.trans_a;
  t.trans_b = false;
  if (!s.trans_b) return t;
  std::swap(t.a_batch, t.b_batch);
  std::swap(t.m, t.n);
  t.trans_a = true;
  t.trans_b = s.trans_a;
  return t;
}

absl::StatusOr<MatmulSpec> ReadProduct(const SpecView& view, absl::string_view type, const Dims& x, const Dims& y, int factor) {
  const Op& op = view.op();
  if (ops::HasFusedMoves(op)) return view.Unsupported("the kernel does not reshape or transpose inside a product");
  MatmulSpec s;
  if (type == "mul") {
    s = ReadMul(op, x, y);
  } else if (type == "matmul") {
    s = ReadStacks(x, y, op.GetBool("transpose_X"), op.GetBool("transpose_Y"));
    s.scale = static_cast<float>(op.GetFloat("alpha", 1));
  } else if (type == "dot") {
    s = ReadDot(x);
  } else if (type == "addmm") {
    s = ReadStacks(x, y, false, false);
    s.scale = static_cast<float>(op.GetFloat("Alpha", 1));
  } else {  // matmul_v2, and those of its form that transpose nothing
    s = ReadStacks(x, y, op.GetBool("trans_x"), op.GetBool("trans_y"));
  }
  s.native_bf16 = view.spec().inputs[factor].dtype == DType::kBF16;
  s.threads = view.spec().threads;
  s.choices = view.spec().choices;
  return s;
}

}  // namespace ampc
