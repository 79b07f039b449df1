#include "graph/base/size.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/index_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

struct Mode {
  const char* name;
  int gates, states;
};
constexpr Mode kModes[] = {{"LSTM", 4, 2}, {"GRU", 3, 1}, {"RNN_TANH", 1, 1}, {"RNN_RELU", 1, 1}};

// Per layer and direction the weights of input and state, then in the same order the biases.
absl::Status CheckWeights(const InferContext& ctx, int64_t gates, int64_t directions, int64_t hidden) {
  const int64_t cells = SatMul(ctx.op().GetInt("num_layers"), directions);
  if (hidden < 1) return Fail(ctx, 6, "hidden_size is ", hidden, ", needs a positive number");
  if (ctx.Count("WeightList") != SatMul(4, cells)) {
    return Fail(ctx, 4, "WeightList has ", ctx.Count("WeightList"), " operands, needs ", SatMul(4, cells),
                ": 2 weights and 2 biases per layer and direction");
  }
  const TensorType& x = ctx.In("Input");
  for (int64_t i = 0; i < 4 * cells; ++i) {
    Dims want = {SatMul(gates, hidden)};
    if (i < 2 * cells)
      want.push_back(i % 2 == 1 ? hidden : i / 2 >= directions ? SatMul(hidden, directions) : x.has_rank ? x.dims[2] : kUnknownDim);
    const TensorType& w = ctx.In("WeightList", static_cast<int>(i));
    const TensorType needed(w.dtype, want);
    if (!w.has_rank || Compatible(w, needed)) continue;
    const std::string& name = ctx.op().inputs(ctx.op().def().InputSlot("WeightList"))[i]->name();
    return Fail(ctx, 6, "weight ", i, " ('", name, "') is ", ToString(w), ", needs ", ToString(needed));
  }
  return absl::OkStatus();
}

absl::Status InferRnn(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "Input", 3, 3, 1));
  const Op& op = ctx.op();
  const Mode* mode = nullptr;
  for (const Mode& m : kModes) {
    if (op.GetString("mode") == m.name) mode = &m;
  }
  if (mode == nullptr) return Fail(ctx, 2, "mode is '", op.GetString("mode"), "', needs LSTM, GRU, RNN_TANH or RNN_RELU");
  if (ctx.Count("PreState") != mode->states) return Fail(ctx, 3, "PreState has ", ctx.Count("PreState"), " operands, needs ", mode->states);
  if (ctx.NumOut("State") != mode->states) return Fail(ctx, 3, "State has ", ctx.NumOut("State"), " results, needs ", mode->states);
  const int64_t directions = op.GetBool("is_bidirec") ? 2 : 1;
  const int64_t hidden = op.GetInt("hidden_size");
  AMPC_RETURN_IF_ERROR(CheckWeights(ctx, mode->gates, directions, hidden));
  const TensorType& x = ctx.In("Input");
  if (ctx.Has("SequenceLength") && ctx.In("SequenceLength").has_rank) {
    const TensorType& lengths = ctx.In("SequenceLength");
    if (lengths.rank() != 1 || (x.has_rank && Differ(lengths.dims[0], x.dims[1]))) {
      return Fail(ctx, 7, "SequenceLength is ", ToString(lengths), ", needs one number per sample of ", ToString(x));
    }
  }
  TensorType out = x;
  if (x.has_rank) out.dims[2] = SatMul(hidden, directions);
  ctx.Out("Out", out);
  const TensorType state(x.dtype, {SatMul(op.GetInt("num_layers"), directions), x.has_rank ? x.dims[1] : kUnknownDim, hidden});
  for (int i = 0; i < mode->states; ++i) {
    const TensorType& before = ctx.In("PreState", i);
    if (before.has_rank && !Compatible(before, state.WithDType(before.dtype))) {
      return Fail(ctx, 5, "PreState has ", ToString(before), " at ", i, ", needs ", ToString(state));
    }
    ctx.Out("State", i, state);
  }
  // Only the gradient reads them.
  const int64_t kept = op.GetBool("is_test") ? 0 : kUnknownDim;
  ctx.Out("DropoutState", TensorType(DType::kU8, {kept}));
  ctx.Out("Reserve", TensorType(x.dtype, {kept}));
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
         "direction, the weights of input and state, then in the same order the biases; gates lie in the order i, f, c, o of LSTM and r, "
         "z, c "
         "of GRU. PreState and State are [layers * directions, batch, hidden]: h, and c for LSTM. Steps from SequenceLength on give zeros "
         "and leave the state. In a low type the states stay fp32 inside and each result is rounded once.")
      .In("Input")
      .VarIn("PreState")
      .VarIn("WeightList")
      .OptIn("SequenceLength", kAsIs)
      .OptOut("DropoutState", kAsIs)
      .OptOut("Reserve")
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
      .Amp(kAllow,
           "its matrix products pay off and sum in fp32; gates and states of LSTM and GRU lie in [-1, 1], where rounding a state moves it "
           "by "
           "at most 2^-12 and the gates damp what came before")
      .GradientOp({"Input PreState WeightList SequenceLength DropoutState? Reserve? Out", "Out State", "Input PreState WeightList"})
      .NotLowOnCuda();
  return def;
}

}  // namespace ampc::ops
