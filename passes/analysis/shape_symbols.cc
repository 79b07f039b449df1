#include "passes/analysis/shape_symbols.h"

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "graph/infer_context.h"
#include "graph/ops/window.h"

namespace ampc {
namespace {

// The operands of one op with symbols for their unknown dimensions.
class SymbolTypes : public TypeEnv {
 public:
  SymbolTypes(const Op& op, const std::vector<Dims>& dims) {
    for (const Var* var : op.inputs()) {
      types_.emplace_back(var, var->type);
      const Dims& symbols = dims[var->id()];
      if (var->type.has_rank && symbols.size() == var->type.dims.size()) types_.back().second.dims = symbols;
    }
  }
  const TensorType& TypeOf(const Var& var) const override {
    for (const auto& [operand, type] : types_) {
      if (operand == &var) return type;
    }
    return var.type;
  }

 private:
  std::vector<std::pair<const Var*, TensorType>> types_;
};

bool IsConv(const Op& op) { return op.type() == "conv2d" || op.type() == "depthwise_conv2d"; }

}  // namespace

ShapeSymbols::ShapeSymbols(const Program& program) : dims_(program.num_var_ids()) {
  // Named symbols of the program stay what they are.
  next_ = -2 - static_cast<int64_t>(program.symbols.size());
  ForEachVar(program, [this](const Var& var) {
    if (var.kind != VarKind::kTemp) Fill(var);
  });
  ForEachOp(program, [this](const Op& op) { Visit(op); });
}

bool ShapeSymbols::Same(const Var& a, const Var& b) const {
  return a.type.has_rank && b.type.has_rank && a.type.rank() == b.type.rank() && dims_[a.id()] == dims_[b.id()];
}

void ShapeSymbols::Fill(const Var& var) {
  Dims& dims = dims_[var.id()];
  if (dims.size() != var.type.dims.size()) dims.assign(var.type.dims.size(), kUnknownDim);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (var.type.dims[i] != kUnknownDim) dims[i] = var.type.dims[i];
    if (dims[i] == kUnknownDim) dims[i] = next_--;
  }
}

void ShapeSymbols::Window(const Op& op, const Var& in, const Var& out) {
  const std::string layout = op.GetString("data_format");
  const Dims& x = dims_[in.id()];
  if (x.size() != 4 || out.type.rank() != 4) return;
  const int first = ops::ChannelsLast(layout) ? 1 : 2;
  Dims kernel = {kUnknownDim, kUnknownDim};
  if (IsConv(op)) {
    const Dims& w = op.input("Filter")->type.dims;
    if (w.size() == 4) kernel = {w[2], w[3]};
  } else {
    const std::vector<int64_t> ksize = op.GetInts("ksize");
    if (op.GetBool("global_pooling") || op.GetBool("adaptive") || ksize.size() != 2) return;
    kernel = {ksize[0], ksize[1]};
  }
  const Dims unknown = {kUnknownDim, kUnknownDim};
  const absl::StatusOr<ops::Windows> windows = ops::ReadWindows(op, unknown, kernel);
  if (!windows.ok() || op.GetString("padding_algorithm") == "SAME") return;
  Dims& y = dims_[out.id()];
  y.assign(4, kUnknownDim);
  y[0] = x[0];
  for (int i = 0; i < 2; ++i) {
    const ops::Window& w = (*windows)[i];
    if (!IsKnown(w.kernel)) continue;
    const int64_t slack = w.before + w.after - w.dilation * (w.kernel - 1) - 1;
    const int64_t in_dim = x[first + i];
    if (w.stride == 1 && slack == -1) {
      y[first + i] = in_dim;
      continue;
    }
    const auto [it, added] = windows_.try_emplace({in_dim, w.stride, slack, op.GetBool("ceil_mode")}, next_);
    if (added) --next_;
    y[first + i] = it->second;
  }
}

// Inference keeps a symbol where it keeps a dimension.
void ShapeSymbols::Infer(const Op& op) {
  const absl::StatusOr<std::vector<std::optional<TensorType>>> types = InferOp(op, SymbolTypes(op, dims_));
  if (!types.ok()) return;
  for (size_t i = 0; i < types->size(); ++i) {
    const Var& out = *op.outputs()[i];
    const std::optional<TensorType>& type = (*types)[i];
    if (out.kind == VarKind::kTemp && type.has_value() && type->has_rank && type->rank() == out.type.rank()) dims_[out.id()] = type->dims;
  }
}

void ShapeSymbols::Visit(const Op& op) {
  if (IsConv(op) || op.type() == "pool2d") {
    if (!op.inputs().empty() && !op.outputs().empty()) Window(op, IsConv(op) ? *op.input("Input") : *op.inputs()[0], *op.outputs()[0]);
  } else {
    Infer(op);
  }
  for (const Var* var : op.outputs()) {
    if (var->kind == VarKind::kTemp) Fill(*var);
  }
}

}  // namespace ampc
