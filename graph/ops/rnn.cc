#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

constexpr struct {
  const char* name;
  int gates, states;
} kModes[] = {{"LSTM", 4, 2}, {"GRU", 3, 1}, {"RNN_TANH", 1, 1}, {"RNN_RELU", 1, 1}};

absl::Status InferRnn(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Input", 3, 3, 1));
  const Op& op = ctx.op();
  int states = 0;
  for (const auto& mode : kModes) {
    if (op.GetString("mode") == mode.name) states = mode.states;
  }
  if (states == 0) return Fail(ctx, 2, "mode is '", op.GetString("mode"), "', needs LSTM, GRU, RNN_TANH or RNN_RELU");
  if (ctx.Count("PreState") != states) return Fail(ctx, 3, "PreState has ", ctx.Count("PreState"), " operands, needs ", states);
  if (ctx.NumOut("State") != states) return Fail(ctx, 3, "State has ", ctx.NumOut("State"), " results, needs ", states);
  const int64_t directions = op.GetBool("is_bidirec") ? 2 : 1;
  const int64_t weights = 4 * op.GetInt("num_layers") * directions;
  if (ctx.Count("WeightList") != weights) {
    return Fail(ctx, 4, "WeightList has ", ctx.Count("WeightList"), " operands, needs ", weights,
                ": 2 weights and 2 biases per layer and direction");
  }
  const TensorType& x = ctx.In("Input");
  TensorType out = x;
  if (x.has_rank) out.dims[2] = op.GetInt("hidden_size") * directions;
  ctx.Out("Out", out);
  for (int i = 0; i < states; ++i) {
    AMPC_RETURN_IF_ERROR(NeedRank(ctx, "PreState", 3, 3, 5));
    ctx.Out("State", i, ctx.In("PreState", i));
  }
  ctx.Out("DropoutState", TensorType(DType::kU8, {kUnknownDim}));
  ctx.Out("Reserve", TensorType(x.dtype, {kUnknownDim}));
  return absl::OkStatus();
}

// Two multiply-adds per weight matrix element, step and sample.
Cost RnnCost(const Op& op) {
  const TensorType& x = op.input("Input")->type;
  const double samples = x.rank() == 3 ? Elements(x) / Elements(TensorType(x.dtype, {x.dims[2]})) : 1;
  double weights = 0;
  for (const Var* var : op.inputs(op.def().InputSlot("WeightList"))) weights += Elements(var->type);
  return {2 * samples * weights, TotalBytes(op)};
}

}  // namespace

OpDef RnnDef() {
  OpDef def("rnn");
  def.Doc(
         "A recurrent network over Input [time, batch, features]: Out [time, batch, hidden * directions]. WeightList holds, per layer and "
         "direction, the weights of input and state, then in the same order the biases. PreState and State are [layers * directions, "
         "batch, hidden]: h, and c for LSTM.")
      .In("Input")
      .VarIn("PreState")
      .VarIn("WeightList")
      .OptIn("SequenceLength", kAsIs)
      .OptOut("DropoutState", kAsIs)
      .OptOut("Reserve", kAsIs)
      .Out("Out")
      .VarOut("State")
      .A("dropout_prob", 0.0f)
      .A("is_bidirec", false)
      .A("input_size", 10)
      .A("hidden_size", 100)
      .A("num_layers", 1)
      .A("mode", "RNN_TANH")
      .A("seed", 0)
      .A("is_test", false)
      .Infer(InferRnn)
      .CostIs(RnnCost)
      .Amp(kDeny, "the state is rounded by up to 2^-12 of its size at every step, so the error grows with the length of the sequence")
      .Gradient("rnn_grad");
  return def;
}

}  // namespace ampc::ops
