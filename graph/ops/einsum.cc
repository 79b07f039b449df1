#include <algorithm>
#include <map>

#include "graph/ops/cost_util.h"
#include "graph/ops/einsum_equation.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// The size of each label: letters agree, dimensions of an ellipsis broadcast.
absl::StatusOr<std::map<int, int64_t>> SizesOf(const InferContext& ctx, const EinsumEquation& e) {
  std::map<int, int64_t> sizes;
  for (int i = 0; i < ctx.Count("Operands"); ++i) {
    for (size_t k = 0; k < e.operands[i].size(); ++k) {
      const int label = e.operands[i][k];
      const int64_t size = ctx.In("Operands", i).dims[k];
      const auto [at, added] = sizes.try_emplace(label, size);
      if (added) continue;
      if (!IsEllipsisLabel(label)) {
        if (Differ(at->second, size)) {
          return Fail(ctx, 3, "label '", std::string(1, static_cast<char>(label)), "' has ", at->second, " and ", size, " elements");
        }
        at->second = Merge(at->second, size);
        continue;
      }
      const std::optional<int64_t> both = BroadcastDim(at->second, size);
      if (!both.has_value())
        return Fail(ctx, 4, "dimensions of an ellipsis have ", at->second, " and ", size, " elements, need one or a 1");
      at->second = *both;
    }
  }
  return sizes;
}

absl::Status InferEinsum(InferContext& ctx) {
  DType dtype = ctx.In("Operands").dtype;
  bool ranked = true;
  std::vector<int> ranks;
  for (int i = 0; i < ctx.Count("Operands"); ++i) {
    const TensorType& operand = ctx.In("Operands", i);
    if (dtype == DType::kInvalid) dtype = operand.dtype;
    if (operand.dtype != dtype && operand.dtype != DType::kInvalid) {
      return Fail(ctx, 1, "operand ", i, " is ", Name(operand.dtype), ", needs ", Name(dtype), " like the first");
    }
    ranked = ranked && operand.has_rank;
    ranks.push_back(operand.has_rank ? operand.rank() : 0);
    ctx.Out("InnerCache", i, TensorType(dtype, {0}));  // what the gradient would reuse: nothing in inference
    TensorType shape(dtype, {0});
    shape.dims.insert(shape.dims.end(), operand.dims.begin(), operand.dims.end());
    ctx.Out("XShape", i, std::move(shape));
  }
  if (!ranked) {
    ctx.Out("Out", TensorType::Unranked(dtype));
    return absl::OkStatus();
  }
  const std::string equation = ctx.op().GetString("equation");
  const absl::StatusOr<EinsumEquation> e = ParseEinsum(equation, ranks);
  if (!e.ok()) return Fail(ctx, 2, "equation '", equation, "': ", e.status().message());
  AMPC_ASSIGN_OR_RETURN(const auto sizes, SizesOf(ctx, *e));
  TensorType out = RankZero(dtype);
  for (int label : e->result) out.dims.push_back(sizes.at(label));
  if (out.dims.empty()) out.dims = ScalarDims(ctx, "Out");
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

// A multiply-add per combination of all labels.
Cost EinsumCost(const Op& op) {
  std::vector<int> ranks;
  for (const Var* var : op.inputs()) ranks.push_back(var->type.rank());
  const absl::StatusOr<EinsumEquation> e = ParseEinsum(op.GetString("equation"), ranks);
  std::map<int, double> sizes;
  for (size_t i = 0; e.ok() && i < ranks.size(); ++i) {
    for (int k = 0; k < ranks[i]; ++k) {
      const int64_t dim = op.inputs()[i]->type.dims[k];
      double& size = sizes[e->operands[i][k]];
      size = std::max({size, 1.0, static_cast<double>(dim)});
    }
  }
  double flops = ranks.size() > 1 ? 2 : 1;
  for (const auto& [label, size] : sizes) flops *= size;
  return {flops, TotalBytes(op)};
}

}  // namespace

OpDef EinsumDef() {
  OpDef def("einsum");
  def.Doc("The sum of products that 'equation' names by one label per dimension: \"bij,bjk->bik\"; repeated labels are diagonals.")
      .VarIn("Operands")
      .Out("Out")
      .VarOut("InnerCache")
      .VarOut("XShape")
      .Required("equation", "")
      .Infer(InferEinsum)
      .CostIs(EinsumCost)
      .Amp(kAllow, "matrix units multiply f16 and accumulate fp32: 8 to 16 times the fp32 rate, and half the bytes")
      .GradientOp({"Operands InnerCache?", "Out", "Operands"})
      .Alias("onnx", "Einsum");
  for (const char* slot : {"InnerCache", "XShape"}) def.outputs[def.OutputSlot(slot)].optional = true;
  return def;
}

}  // namespace ampc::ops
