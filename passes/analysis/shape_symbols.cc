#include "passes/analysis/shape_symbols.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "graph/ops/window.h"

namespace ampc {
namespace {

bool KeepsShape(const Op& op) {
  static constexpr absl::string_view kOps[] = {"relu",    "relu6",     "leaky_relu", "sigmoid", "tanh",   "gelu",      "swish",     "hard_swish",
                                               "hard_sigmoid", "sqrt", "abs",   "exp",     "square", "scale",     "dropout",   "cast",
                                               "softmax", "batch_norm", "layer_norm", "clip",  "assign", "pow",       "silu",      "mish"};
  return std::find(std::begin(kOps), std::end(kOps), op.type()) != std::end(kOps);
}

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

void ShapeSymbols::Copy(const Var& from, const Var& to) {
  if (from.type.rank() == to.type.rank()) dims_[to.id()] = dims_[from.id()];
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

void ShapeSymbols::Broadcast(const Op& op) {
  const Dims& x = dims_[op.inputs()[0]->id()];
  const Dims& y = dims_[op.inputs()[1]->id()];
  Dims& out = dims_[op.outputs()[0]->id()];
  if (x.size() < y.size() || op.outputs()[0]->type.dims.size() != x.size()) return;
  out = x;
  const int64_t axis = op.GetInt("axis", -1);
  const size_t shift = axis < 0 ? x.size() - y.size() : static_cast<size_t>(axis);
  for (size_t i = 0; i < y.size() && shift + i < x.size(); ++i) {
    // Where one side may be 1 and the other not, the result is something else.
    if (y[i] != x[shift + i] && y[i] != 1) out[shift + i] = kUnknownDim;
  }
}

void ShapeSymbols::Visit(const Op& op) {
  const bool has_in = !op.inputs().empty() && !op.outputs().empty();
  if (has_in && KeepsShape(op)) {
    const Var* x = op.input("X");
    if (x != nullptr) Copy(*x, *op.outputs()[0]);
  } else if (has_in && (IsConv(op) || op.type() == "pool2d")) {
    Window(op, IsConv(op) ? *op.input("Input") : *op.inputs()[0], *op.outputs()[0]);
  } else if (absl::StartsWith(op.type(), "elementwise_") && op.inputs().size() == 2 && !op.outputs().empty()) {
    Broadcast(op);
  }
  for (const Var* var : op.outputs()) {
    if (var->kind == VarKind::kTemp) Fill(*var);
  }
}

}  // namespace ampc
