// Recurrent ops one step after the other, with every option of the standard: peepholes, clipping, other activations, coupled gates.
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/recurrent_util.h"

namespace ampc::onnx {
namespace {

struct NativeActivation {
  const char* op;
  const char* alpha;  // attributes that take the parameters
  const char* beta;
};

Var* Activate(Lowering& l, const Activation& a, Var* x) {
  static const auto& by_name = *new std::map<std::string, NativeActivation>{
      {"Relu", {"relu", nullptr, nullptr}},
      {"Tanh", {"tanh", nullptr, nullptr}},
      {"Sigmoid", {"sigmoid", nullptr, nullptr}},
      {"Softsign", {"softsign", nullptr, nullptr}},
      {"Softplus", {"softplus", nullptr, nullptr}},
      {"Affine", {"scale", "scale", "bias"}},
      {"LeakyRelu", {"leaky_relu", "alpha", nullptr}},
      {"ThresholdedRelu", {"thresholded_relu", "threshold", nullptr}},
      {"ScaledTanh", {"stanh", "scale_b", "scale_a"}},
      {"HardSigmoid", {"hard_sigmoid", "slope", "offset"}},
      {"Elu", {"elu", "alpha", nullptr}},
  };
  const auto it = by_name.find(a.name);
  if (it == by_name.end()) {
    l.Unsupported(absl::StrCat("there is no activation '", a.name, "'"));
    return x;
  }
  Lowering::Attrs attrs;
  if (it->second.alpha != nullptr) attrs.push_back({it->second.alpha, static_cast<float>(a.alpha)});
  if (it->second.beta != nullptr) attrs.push_back({it->second.beta, static_cast<float>(a.beta)});
  return l.Op(it->second.op, {{"X", x}}, std::move(attrs));
}

// One direction.
class Stepper {
 public:
  Stepper(Recurrent& r, int64_t d, Var* h, Var* c) : r_(r), l_(r.l), d_(d), h_(h), c_(c) {
    if (r.product == nullptr) r_w_ = r.Direction(l_.In("R"), d);
    coupled_ = l_.GetInt("input_forget") != 0;
    reset_first_ = r.gates == 3 && l_.GetInt("linear_before_reset") == 0;
    if (l_.Has("P")) peepholes_ = l_.OpList("split", {{"X", r.Direction(l_.In("P"), d)}}, {{"num", 3}, {"axis", 0}}, "Out", 3);
    if (!l_.Has("B")) return;
    const std::vector<Var*> biases = l_.OpList("split", {{"X", r.Direction(l_.In("B"), d)}}, {{"num", 2}, {"axis", 0}}, "Out", 2);
    input_bias_ = biases[0];
    state_bias_ = biases[1];
  }

  // The outputs of all steps, in order of time.
  std::vector<Var*> Run(int64_t time) {
    const bool apart = r_.gates == 3 && !reset_first_;  // the bias of the state's part is scaled by the reset gate
    if (input_bias_ != nullptr && !apart) input_bias_ = Add(input_bias_, state_bias_);
    Var* all = Times(r_.x, "W");
    if (input_bias_ != nullptr) all = Add(all, input_bias_);
    const std::vector<Var*> steps =
        l_.OpList("split", {{"X", all}}, {{"num", static_cast<int32_t>(time)}, {"axis", 0}}, "Out", static_cast<int>(time));
    std::vector<Var*> out(time, nullptr);
    const bool backward = r_.reversed || d_ == 1;
    for (int64_t i = 0; i < time && l_.ok(); ++i) {
      const int64_t t = backward ? time - 1 - i : i;
      out[t] = Step(l_.Squeeze(steps[t], {0}), t);
    }
    return out;
  }
  Var* h() const { return h_; }
  Var* c() const { return c_; }

 private:
  Var* Add(Var* a, Var* b) { return l_.Binary("elementwise_add", a, b); }
  Var* Mul(Var* a, Var* b) { return l_.Binary("elementwise_mul", a, b); }
  // 1 - a
  Var* Rest(Var* a) { return l_.Op("scale", {{"X", a}}, {{"scale", -1.0f}, {"bias", 1.0f}}); }
  Var* Apply(int activation, Var* x) {
    if (l_.HasAttr("clip")) {
      const float clip = static_cast<float>(l_.GetFloat("clip"));
      x = l_.Op("clip", {{"X", x}}, {{"min", -clip}, {"max", clip}});
    }
    return Activate(l_, r_.activations[d_][activation], x);
  }
  std::vector<Var*> Gates(Var* x) {
    if (r_.gates == 1) return {x};
    return l_.OpList("split", {{"X", x}}, {{"num", r_.gates}, {"axis", 1}}, "Out", r_.gates);
  }
  // x times the weights that the operand has for this direction.
  Var* Times(Var* x, const char* weight) {
    return r_.product != nullptr ? r_.product(r_, x, weight, d_) : FromState(x, r_.Direction(l_.In(weight), d_));
  }
  Var* FromState(Var* h, Var* weight) { return l_.Op("matmul_v2", {{"X", h}, {"Y", weight}}, {{"trans_y", true}}); }
  Var* Peep(Var* x, int which, Var* c) { return peepholes_.empty() ? x : Add(x, Mul(c, peepholes_[which])); }

  // `x`: what the input of step `t` gives the gates, [batch, gates * hidden].
  Var* Step(Var* x, int64_t t) {
    Var* h = nullptr;
    Var* c = c_;
    if (r_.gates == 4) h = Lstm(x, &c);
    if (r_.gates == 3) h = Gru(x);
    if (r_.gates == 1) h = Apply(0, Add(x, FromState(h_, r_w_)));
    if (r_.lengths == nullptr) {
      h_ = h;
      c_ = c;
      return h;
    }
    // A sequence that has ended keeps its state and gives zeros.
    Var* const lengths = r_.lengths;
    Var* const running = l_.Unsqueeze(l_.Binary("less_than", l_.ConstScalar(static_cast<double>(t), lengths->type.dtype), lengths), {1});
    Var* const on = l_.Cast(running, h->type.dtype);
    Var* const out = Mul(h, on);
    h_ = Add(out, Mul(h_, Rest(on)));
    if (c_ != nullptr) c_ = Add(Mul(c, on), Mul(c_, Rest(on)));
    return out;
  }

  Var* Lstm(Var* x, Var** c) {
    const std::vector<Var*> g = Gates(Add(x, r_.product != nullptr ? Times(h_, "R") : FromState(h_, r_w_)));  // i o f c
    Var* const i = Apply(0, Peep(g[0], 0, c_));
    Var* const f = coupled_ ? Rest(i) : Apply(0, Peep(g[2], 2, c_));
    *c = Add(Mul(f, c_), Mul(i, Apply(1, g[3])));
    Var* const o = Apply(0, Peep(g[1], 1, *c));
    return Mul(o, Activate(l_, r_.activations[d_][2], *c));  // ONNX Runtime clips what the gates are made of, not the cell
  }

  Var* Gru(Var* x) {
    const std::vector<Var*> from_x = Gates(x);  // z r h
    Var *z = nullptr, *candidate = nullptr;
    if (reset_first_) {
      const std::vector<Var*> w = l_.OpList("split", {{"X", r_w_}}, {{"num", 3}, {"axis", 0}}, "Out", 3);
      z = Apply(0, Add(from_x[0], FromState(h_, w[0])));
      Var* const reset = Apply(0, Add(from_x[1], FromState(h_, w[1])));
      candidate = Apply(1, Add(from_x[2], FromState(Mul(reset, h_), w[2])));
    } else {
      Var* from_state = FromState(h_, r_w_);
      if (state_bias_ != nullptr) from_state = Add(from_state, state_bias_);
      const std::vector<Var*> s = Gates(from_state);
      z = Apply(0, Add(from_x[0], s[0]));
      candidate = Apply(1, Add(from_x[2], Mul(Apply(0, Add(from_x[1], s[1])), s[2])));
    }
    return Add(Mul(Rest(z), candidate), Mul(z, h_));
  }

  Recurrent& r_;
  Lowering& l_;
  const int64_t d_;
  Var *h_, *c_;
  Var *r_w_ = nullptr, *input_bias_ = nullptr, *state_bias_ = nullptr;
  std::vector<Var*> peepholes_;  // i o f
  bool coupled_ = false, reset_first_ = false;
};

}  // namespace

void LowerStepByStep(Recurrent& r) {
  Lowering& l = r.l;
  if (!r.x->type.has_rank || !IsKnown(r.x->type.dims[0])) return l.NeedsShape("the number of steps");
  const int64_t time = r.x->type.dims[0];
  if (time == 0) return l.Unsupported("a sequence without steps");
  if (l.Has("sequence_lens")) {
    // Each is looked up among the numbers that there are: another one is an error of the run.
    std::vector<int64_t> numbers(time + 1);
    std::iota(numbers.begin(), numbers.end(), int64_t{0});
    r.lengths = l.Op("gather", {{"X", l.Const(numbers)}, {"Index", l.In("sequence_lens")}}, {{"axis", 0}});
  }
  Var* const h = r.Initial("initial_h");
  Var* const c = r.gates == 4 ? r.Initial("initial_c") : nullptr;
  std::vector<Var*> outputs, last_h, last_c;
  for (int64_t d = 0; d < r.directions; ++d) {
    Stepper stepper(r, d, r.Direction(h, d), c == nullptr ? nullptr : r.Direction(c, d));
    const std::vector<Var*> steps = stepper.Run(time);
    if (!l.ok()) return;
    outputs.push_back(l.Op("stack", {{"X", steps}}, {{"axis", 0}}, "Y"));
    last_h.push_back(stepper.h());
    if (c != nullptr) last_c.push_back(stepper.c());
  }
  r.SetOutput(outputs.size() == 1 ? outputs[0] : l.Op("concat", {{"X", outputs}}, {{"axis", 2}}));
  r.SetState("Y_h", l.Op("stack", {{"X", last_h}}, {{"axis", 0}}, "Y"));
  if (c != nullptr) r.SetState("Y_c", l.Op("stack", {{"X", last_c}}, {{"axis", 0}}, "Y"));
}

}  // namespace ampc::onnx
