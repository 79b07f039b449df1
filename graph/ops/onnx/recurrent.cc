// LSTM, GRU and RNN. The common forms are the native rnn, which has other orders of gates: weights and biases are put in its order, which
// is done once where they are constants. The others are made step by step (recurrent_steps.cc).
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/quantize_util.h"
#include "graph/ops/onnx/recurrent_util.h"

namespace ampc::onnx {
namespace {

struct Defaults {
  const char* name;
  double alpha, beta;
};
// Activations with parameters, and what these are where the op does not say.
constexpr Defaults kParametric[] = {{"Affine", 1, 0},     {"LeakyRelu", 0.01, 0},    {"ThresholdedRelu", 1, 0},
                                    {"ScaledTanh", 1, 1}, {"HardSigmoid", 0.2, 0.5}, {"Elu", 1, 0}};

bool HasBeta(absl::string_view name) { return name == "Affine" || name == "ScaledTanh" || name == "HardSigmoid"; }

}  // namespace

Recurrent::Recurrent(Lowering& lowering, int gate_count, int activation_count) : l(lowering), gates(gate_count) {
  const std::string direction = l.GetString("direction");
  const bool forward = direction == "forward" || direction == "foward";  // as operator set 1 spells it
  if (!forward && direction != "reverse" && direction != "bidirectional") {
    l.Unsupported(absl::StrCat("direction '", direction, "' is not one of forward, reverse and bidirectional"));
    return;
  }
  directions = direction == "bidirectional" ? 2 : 1;
  reversed = direction == "reverse";
  batch_first = l.GetInt("layout") != 0;
  if (const int64_t layout = l.GetInt("layout"); layout != 0 && layout != 1) {
    Wrong(l, absl::StrCat("layout is ", layout, ", needs 0 or 1"));
    return;
  }
  for (const char* slot : {"X", "W", "R"}) {
    const TensorType& type = l.In(slot)->type;
    if (!type.has_rank || type.rank() == 3) continue;
    Wrong(l, absl::StrCat(slot, " is ", ToString(type), ", needs 3 dims"));
    return;
  }
  hidden = l.GetInt("hidden_size");
  const TensorType& recurrence = l.In("R")->type;
  const int state = l.Has("R_scale") ? 1 : 2;  // quantised weights are transposed
  if (recurrence.has_rank && recurrence.rank() == 3 && IsKnown(recurrence.dims[state])) {
    if (l.HasAttr("hidden_size") && hidden != recurrence.dims[state]) {
      Wrong(l, absl::StrCat("hidden_size is ", hidden, ", needs ", recurrence.dims[state], " like R"));
      return;
    }
    hidden = recurrence.dims[state];
  }
  if (hidden <= 0) l.NeedsShape("the size of the hidden state");
  if (hidden <= 0 || !ReadActivations(activation_count) || !CheckLengths()) return;
  x = batch_first ? l.Transpose(l.In("X"), {1, 0, 2}) : l.In("X");
}

bool Recurrent::CheckLengths() {
  if (!l.Has("sequence_lens") || !l.In("X")->type.has_rank || l.In("X")->type.rank() != 3) return true;
  const int64_t steps = l.In("X")->type.dims[batch_first ? 1 : 0], batch = l.In("X")->type.dims[batch_first ? 0 : 1];
  const TensorType& lengths = l.In("sequence_lens")->type;
  if (lengths.has_rank && (lengths.rank() != 1 || (IsKnown(lengths.dims[0]) && IsKnown(batch) && lengths.dims[0] != batch))) {
    Wrong(l, absl::StrCat("sequence_lens is ", ToString(lengths), ", needs one number per sample of ", ToString(l.In("X")->type)));
    return false;
  }
  for (const int64_t n : l.Ints(l.In("sequence_lens")).value_or(std::vector<int64_t>())) {
    if (n >= 0 && (n <= steps || !IsKnown(steps))) continue;
    Wrong(l, absl::StrCat("sequence_lens has ", n, ", needs 0 to the number of steps"));
    return false;
  }
  return true;
}

bool Recurrent::ReadActivations(int count) {
  static const char* const kNames[][3] = {{"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
  std::vector<std::string> names;
  if (const AttrValue* value = l.op().explicit_attr("activations")) {  // RNN's default is of the length for two directions
    if (const auto* list = std::get_if<std::vector<std::string>>(value)) names = *list;
  }
  if (!names.empty() && static_cast<int64_t>(names.size()) != count * directions) {
    l.Unsupported(absl::StrCat("activations has ", names.size(), " names, needs ", count * directions));
    return false;
  }
  const std::vector<double> alpha = l.GetFloats("activation_alpha"), beta = l.GetFloats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  for (int64_t d = 0; d < directions; ++d) {
    activations.emplace_back();
    for (int i = 0; i < count; ++i) {
      Activation a = {names.empty() ? kNames[count - 1][i] : names[d * count + i]};
      for (const Defaults& p : kParametric) {
        if (a.name != p.name) continue;
        a.alpha = next_alpha < alpha.size() ? alpha[next_alpha++] : p.alpha;
        a.beta = HasBeta(a.name) && next_beta < beta.size() ? beta[next_beta++] : p.beta;
      }
      activations.back().push_back(std::move(a));
    }
  }
  return true;
}

Var* Recurrent::Direction(Var* value, int64_t d) {
  if (directions == 1) return l.Squeeze(value, {0});
  return l.Squeeze(
      l.OpList("split", {{"X", value}}, {{"num", static_cast<int32_t>(directions)}, {"axis", 0}}, "Out", static_cast<int>(directions))[d],
      {0});
}

Var* Recurrent::Initial(const char* formal) {
  if (l.Has(formal)) return batch_first ? l.Transpose(l.In(formal), {1, 0, 2}) : l.In(formal);
  return l.Op("fill_constant_batch_size_like", {{"Input", x}},
              {{"shape", std::vector<int64_t>{directions, -1, hidden}},
               {"input_dim_idx", 1},
               {"output_dim_idx", 1},
               {"dtype", x->type.dtype},
               {"value", 0.0f}});
}

void Recurrent::SetOutput(Var* all) {
  Var* y = l.Reshape(all, {0, 0, directions, hidden});
  l.Result("Y", l.Transpose(y, batch_first ? std::vector<int>{1, 0, 2, 3} : std::vector<int>{0, 2, 1, 3}));
}

void Recurrent::SetState(const char* formal, Var* last) { l.Result(formal, batch_first ? l.Transpose(last, {1, 0, 2}) : last); }

namespace {

// The native rnn's order of gates by ONNX's numbers.
const std::vector<int>& GateOrder(int gates) {
  static const auto& lstm = *new std::vector<int>{0, 2, 3, 1};  // i o f c -> i f c o
  static const auto& gru = *new std::vector<int>{1, 0, 2};      // z r h -> r z c
  static const auto& one = *new std::vector<int>{0};
  return gates == 4 ? lstm : gates == 3 ? gru : one;
}

// [gates * hidden, ...] in the native order.
Var* Reorder(Recurrent& r, Var* value) {
  if (r.gates == 1) return value;
  const std::vector<Var*> parts = r.l.OpList("split", {{"X", value}}, {{"num", r.gates}, {"axis", 0}}, "Out", r.gates);
  std::vector<Var*> ordered;
  for (const int gate : GateOrder(r.gates)) ordered.push_back(parts[gate]);
  return r.l.Op("concat", {{"X", ordered}}, {{"axis", 0}});
}

// The native rnn's name for what the op does, "" where it has none.
std::string NativeMode(const Recurrent& r) {
  Lowering& l = r.l;
  if (l.HasAttr("clip") || l.GetInt("input_forget") != 0) return "";
  const DType dtype = l.In("X")->type.dtype;
  if (dtype != DType::kF32 && !IsLowPrecision(dtype)) return "";
  for (const std::vector<Activation>& a : r.activations) {
    for (size_t i = 0; i < a.size(); ++i) {
      const bool gate = i == 0 && a.size() > 1;
      if (r.gates == 1 ? a[i].name != r.activations[0][0].name : a[i].name != (gate ? "Sigmoid" : "Tanh")) return "";
    }
  }
  if (r.gates == 4) return l.Has("P") ? "" : "LSTM";
  if (r.gates == 3) return l.GetInt("linear_before_reset") != 0 ? "GRU" : "";
  const std::string& name = r.activations[0][0].name;
  return name == "Tanh" ? "RNN_TANH" : name == "Relu" ? "RNN_RELU" : "";
}

Var* Flip(Lowering& l, Var* x) { return l.Op("flip", {{"X", x}}, {{"axis", std::vector<int32_t>{0}}}); }

Var* Twice(Lowering& l, Var* x) { return l.Op("concat", {{"X", std::vector<Var*>{x, x}}}, {{"axis", 0}}); }

// The second of two parts along `axis`.
Var* Second(Lowering& l, Var* x, int32_t axis) { return l.OpList("split", {{"X", x}}, {{"num", 2}, {"axis", axis}}, "Out", 2)[1]; }

void LowerToNative(Recurrent& r, const std::string& mode) {
  Lowering& l = r.l;
  // Backwards is forwards over the sequence turned around; with sequences of different lengths, the second half of both directions.
  const bool lengths = l.Has("sequence_lens");
  const bool flipped = r.reversed && !lengths, doubled = r.reversed && lengths;
  std::vector<Var*> weights, biases;
  for (int64_t d = 0; d < r.directions; ++d) {
    for (const char* formal : {"W", "R"}) weights.push_back(Reorder(r, r.Direction(l.In(formal), d)));
    if (l.Has("B")) {
      for (Var* bias : l.OpList("split", {{"X", r.Direction(l.In("B"), d)}}, {{"num", 2}, {"axis", 0}}, "Out", 2))
        biases.push_back(Reorder(r, bias));
    } else {
      Var* zero = l.Op("fill_constant", {},
                       {{"shape", std::vector<int64_t>{r.gates * r.hidden}}, {"dtype", l.In("X")->type.dtype}, {"value", 0.0f}});
      biases.insert(biases.end(), {zero, zero});
    }
  }
  std::vector<Var*> before = {r.Initial("initial_h")};
  if (r.gates == 4) before.push_back(r.Initial("initial_c"));
  if (doubled) {
    weights.insert(weights.end(), {weights[0], weights[1]});
    biases.insert(biases.end(), {biases[0], biases[1]});
    for (Var*& state : before) state = Twice(l, state);
  }
  weights.insert(weights.end(), biases.begin(), biases.end());
  std::vector<Lowering::Operand> operands = {{"Input", flipped ? Flip(l, r.x) : r.x}, {"PreState", before}, {"WeightList", weights}};
  if (lengths) operands.push_back({"SequenceLength", l.In("sequence_lens")});
  std::vector<absl::string_view> slots(1 + before.size(), "State");
  slots[0] = "Out";
  std::vector<Var*> out = l.Ops("rnn", std::move(operands),
                                {{"mode", mode},
                                 {"is_bidirec", r.directions == 2 || doubled},
                                 {"hidden_size", WholeNumber(r.hidden)},
                                 {"num_layers", 1},
                                 {"is_test", true}},
                                std::move(slots));
  if (doubled) out[0] = Second(l, out[0], 2);
  for (size_t i = 1; i < out.size() && doubled; ++i) out[i] = Second(l, out[i], 0);
  r.SetOutput(flipped ? Flip(l, out[0]) : out[0]);
  r.SetState("Y_h", out[1]);
  if (r.gates == 4) r.SetState("Y_c", out[2]);
}

template <int kGates, int kActivations>
void Lower(Lowering& l) {
  Recurrent r(l, kGates, kActivations);
  if (!l.ok()) return;
  const std::string mode = NativeMode(r);
  if (mode.empty()) return LowerStepByStep(r);
  LowerToNative(r, mode);
}

// The weights are integers with a scale; what they are multiplied with is quantised over its own range at every product.
Var* QuantizedProduct(Recurrent& r, Var* x, const char* weight, int64_t d) {
  const auto part = [&](const char* suffix) { return r.Direction(r.l.In(absl::StrCat(weight, suffix)), d); };
  return DequantizedProduct(r.l, DynamicallyQuantized(r.l, x), {part(""), part("_scale"), part("_zero_point")});
}

void LowerQuantizedLstm(Lowering& l) {
  Recurrent r(l, 4, 3);
  if (!l.ok()) return;
  r.product = &QuantizedProduct;
  LowerStepByStep(r);
}

}  // namespace

void AddRecurrent(OnnxOps& ops) {
  ops.Add("LSTM").Like("rnn").LowOnCuda().Lower(&Lower<4, 3>);
  ops.Add("com.microsoft.DynamicQuantizeLSTM").Amp(AmpClass::kNever, "quantised: its scales stay as they are").Lower(&LowerQuantizedLstm);
  ops.Add("GRU").Like("rnn").LowOnCuda().Lower(&Lower<3, 2>);
  ops.Add("RNN").Like("rnn").LowOnCuda().Lower(&Lower<1, 1>);
}

}  // namespace ampc::onnx
