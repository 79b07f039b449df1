#include <utility>
#include <vector>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// A row of relu's mask: one bit per column, so many rows as matrix units want.
int64_t MaskBytes(int64_t cols) { return IsKnown(cols) ? (cols + 127) / 128 * 16 : kUnknownDim; }

// The value that the gradient of the function needs, for a result of type `of`.
TensorType ReserveType(const TensorType& of, bool mask) {
  if (!mask || !of.has_rank || of.rank() == 0) return mask ? TensorType::Unranked(DType::kU8) : of;
  TensorType reserve = of.WithDType(DType::kU8);
  reserve.dims.back() = MaskBytes(of.dims.back());
  return reserve;
}

// The sizes that a product of X as a matrix and Y has.
struct Sizes {
  int64_t k_of_x = kUnknownDim, k_of_y = kUnknownDim, n = kUnknownDim;
  std::vector<int64_t> rows;  // those of Out but for the last
};

absl::StatusOr<Sizes> ReadSizes(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Y", 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "X", 2, 8, 2));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Y", 2, 2, 2));
  const TensorType &x = ctx.In("X"), &y = ctx.In("Y");
  Sizes s;
  const bool trans_y = ctx.op().GetBool("trans_y");
  if (y.has_rank) {
    s.k_of_y = y.dims[trans_y ? 1 : 0];
    s.n = y.dims[trans_y ? 0 : 1];
  }
  if (!x.has_rank) return s;
  if (ctx.op().GetBool("trans_x")) {
    s.k_of_x = x.dims[0];
    s.rows.assign(x.dims.begin() + 1, x.dims.end());
  } else {
    s.k_of_x = x.dims.back();
    s.rows.assign(x.dims.begin(), x.dims.end() - 1);
  }
  if (Differ(s.k_of_x, s.k_of_y)) return Fail(ctx, 3, "Y has ", s.k_of_y, " rows, needs ", s.k_of_x, ", the columns of X");
  return s;
}

absl::Status Infer(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(const Sizes s, ReadSizes(ctx));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Bias", 1));
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Bias", 1, 1, 2));
  const TensorType &x = ctx.In("X"), &bias = ctx.In("Bias");
  if (bias.has_rank && Differ(bias.dims[0], s.n)) return Fail(ctx, 4, "Bias has ", bias.dims[0], " elements, needs ", s.n);
  const std::string activation = ctx.op().GetString("activation", "none");
  if (activation != "none" && activation != "relu" && activation != "gelu") {
    return Fail(ctx, 5, "activation is '", activation, "', needs none, relu or gelu");
  }
  if (activation == "none" && ctx.NumOut("ReserveSpace") > 0) return Fail(ctx, 6, "has a ReserveSpace, which only relu and gelu fill");
  TensorType out = TensorType::Unranked(x.dtype);
  if (x.has_rank) {
    Dims dims(s.rows.begin(), s.rows.end());
    dims.push_back(s.n);
    out = TensorType(x.dtype, std::move(dims));
  }
  ctx.Out("ReserveSpace", ReserveType(out, activation == "relu"));
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status InferGradient(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(const Sizes s, ReadSizes(ctx));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "DOut", 1));
  const TensorType &x = ctx.In("X"), &y = ctx.In("Y"), &gradient = ctx.In("DOut");
  if (gradient.has_rank && x.has_rank) {
    if (gradient.rank() != x.rank()) return Fail(ctx, 4, "DOut has rank ", gradient.rank(), ", needs ", x.rank());
    for (int i = 0; i < gradient.rank(); ++i) {
      const int64_t needed = i + 1 < gradient.rank() ? s.rows[i] : s.n;
      if (Differ(gradient.dims[i], needed)) return Fail(ctx, 4, "DOut has ", gradient.dims[i], " in dimension ", i, ", needs ", needed);
    }
  }
  const std::string function = ctx.op().GetString("activation_grad", "none");
  if (function != "none" && function != "relu_grad" && function != "gelu_grad") {
    return Fail(ctx, 5, "activation_grad is '", function, "', needs none, relu_grad or gelu_grad");
  }
  if (function != "none") {
    if (!ctx.Has("ReserveSpace")) return Fail(ctx, 6, "activation_grad is ", function, ", which needs a ReserveSpace");
    const TensorType needed = ReserveType(x, function == "relu_grad"), found = ctx.In("ReserveSpace");
    if (found.dtype != needed.dtype || !Compatible(found, needed))
      return Fail(ctx, 6, "ReserveSpace is ", ToString(found), ", needs ", ToString(needed));
  }
  ctx.Out("DX", x);
  ctx.Out("DY", y);
  ctx.Out("DBias", TensorType(x.dtype, {s.n}));
  return absl::OkStatus();
}

double Inner(const Op& op) {
  const TensorType& x = op.input("X")->type;
  const int64_t k = x.rank() == 0 ? kUnknownDim : op.GetBool("trans_x") ? x.dims.front() : x.dims.back();
  return IsKnown(k) ? static_cast<double>(k) : 1;
}

Cost GradientCost(const Op& op) {
  const double products = (op.output("DX") != nullptr ? 1 : 0) + (op.output("DY") != nullptr ? 1 : 0);
  return {products * 2 * Inner(op) * Elements(op.input("DOut")->type), TotalBytes(op)};
}

}  // namespace

OpDef FusedGemmEpilogueDef() {
  return OpDef("fused_gemm_epilogue")
      .Doc(
          "Linear layer of training: X as a matrix times Y, plus Bias, then relu or gelu (by tanh), rounded once. "
          "ReserveSpace is for the gradient: of relu a mask with a bit per element, the first one lowest; of gelu its operand.")
      .In("X")
      .In("Y")
      .In("Bias")
      .Out("Out")
      .OptOut("ReserveSpace")
      .A("trans_x", false)
      .A("trans_y", false)
      .A("activation", "none")
      .Infer(Infer)
      .CostIs([](const Op& op) {
        return Cost{2 * Inner(op) * ResultElements(op), TotalBytes(op)};
      })
      .Amp(kAllow,
           "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate; the bias is added before the result is rounded")
      .Gradient("none: fusion makes it, and its gradient op, of ops that have their gradients already");
}

OpDef FusedGemmEpilogueGradDef() {
  return OpDef("fused_gemm_epilogue_grad")
      .Doc(
          "The gradients of fused_gemm_epilogue without activation. DX is multiplied by the derivative of the activation that made X, "
          "which left ReserveSpace, so that it is the gradient of the layer in front before its activation.")
      .In("DOut", kAsIs)
      .In("X", kAsIs)
      .In("Y", kAsIs)
      .OptIn("ReserveSpace", kAsIs)
      .OptOut("DX", kAsIs)
      .OptOut("DY", kAsIs)
      .OptOut("DBias", kAsIs)
      .A("trans_x", false)
      .A("trans_y", false)
      .A("activation_grad", "none")
      .Infer(InferGradient)
      .CostIs(GradientCost)
      .Amp(kNever, "made after the forward pass was decided; takes the types of the values whose gradient it computes")
      .Gradient("none: a gradient is not differentiated again");
}

}  // namespace ampc::ops
