// The gradient of rnn. The forward pass is repeated and keeps the gates of every step; then each cell goes back in time, and the gradients
// of its weights and of its input are one matrix product each.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/move/repeat_sum.h"
#include "kernels/cpu/recurrent/rnn_spec.h"
#include "kernels/cpu/simd/gates.h"
#include "kernels/kernel_registry.h"
#include "kernels/lib/matmul.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 11;  // numbers of a state that are worth a thread

// Offsets in floats, each a multiple of 16.
class Room {
 public:
  int64_t Take(int64_t n) {
    const int64_t at = size_;
    size_ += (n + 15) / 16 * 16;
    return at;
  }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
};

// The products of one layer in one direction; its operands are flat positions in WeightList's order.
struct Cell {
  std::unique_ptr<onednn::Matmul> from_input, from_state;  // gates
  std::unique_ptr<onednn::Matmul> to_input, to_state;      // gradients of the layer's input and of the state before
  std::unique_ptr<onednn::Matmul> to_input_weight, to_state_weight;
  int at[4] = {};                                // weights of input and state, then their biases
  int64_t kept = 0, before_h = 0, before_c = 0;  // in the workspace: [time, batch, ..] of every step
};

class RnnGradient final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec);

  int64_t workspace_bytes() const override { return room_.size() * static_cast<int64_t>(sizeof(float)); }
  std::string implementation() const override { return cells_[0].from_state->implementation(); }
  absl::Status Run(const KernelArgs& args) const override;

 private:
  RnnGradient(const RnnSizes& sizes, std::vector<Cell> cells) : s_(sizes), cells_(std::move(cells)) {}
  void PlanWorkspace();
  int64_t kept_row() const { return s_.hidden * (s_.mode == RnnMode::kLstm ? 5 : s_.mode == RnnMode::kGru ? 4 : 1); }
  static const float* In(const KernelArgs& args, int i) { return static_cast<const float*>(args.inputs[i]); }
  static float* Out(const KernelArgs& args, int i) { return i < 0 ? nullptr : static_cast<float*>(args.outputs[i]); }
  float* At(const KernelArgs& args, int64_t offset) const { return static_cast<float*>(args.workspace) + offset; }
  // The flat result for a weight of a cell; -1 when it is not wanted.
  int WeightResult(const Cell& cell, int i) const {
    return first_weight_result_ < 0 ? -1 : first_weight_result_ + cell.at[i] - first_weight_;
  }

  absl::Status Forward(const KernelArgs& args, int64_t cell, const float* x, float* out) const;
  void ForwardStep(const KernelArgs& args, const Cell& cell, int64_t t, float* out) const;
  absl::Status Backward(const KernelArgs& args, int64_t cell, const float* gradient) const;
  void BackwardStep(const KernelArgs& args, const Cell& cell, int64_t t, const float* gradient) const;
  absl::Status GiveWeights(const KernelArgs& args, const Cell& cell, const float* x) const;

  const RnnSizes s_;
  std::vector<Cell> cells_;
  Room room_;
  RnnLengths lengths_;
  int x_ = 0, before_h_ = 0, before_c_ = -1, first_weight_ = 0;  // flat operands
  int gradient_ = 0, gradient_h_ = 0, gradient_c_ = -1;
  int to_x_ = -1, to_h_ = -1, to_c_ = -1, first_weight_result_ = -1;                         // flat results; -1: not wanted
  RepeatSum column_sum_;                                                                     // of the gates' gradients
  int64_t gates_ = 0, state_gates_ = 0, step_ = 0, h_ = 0, c_ = 0, bias_ = 0, product_ = 0;  // offsets
  int64_t layer_[2] = {}, part_ = 0;
  std::vector<int64_t> outs_;  // per layer but the last: what it gives the next one
};

absl::StatusOr<Cell> MakeCell(const SpecView& view, const RnnSizes& s, int64_t i, bool wants_input, bool wants_weights) {
  const int cells = static_cast<int>(s.cells()), at = static_cast<int>(2 * i);
  Cell cell;
  for (int k = 0; k < 2; ++k) {
    cell.at[k] = view.In("WeightList", at + k);
    cell.at[2 + k] = view.In("WeightList", 2 * cells + at + k);
  }
  const int64_t rows = s.time * s.batch, gates = s.gate_row(), in = s.features_of(i);
  const auto product = [&](int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b, bool bias) {
    onednn::MatmulSpec p;
    p.m = m;
    p.n = n;
    p.k = k;
    p.trans_a = trans_a;
    p.trans_b = trans_b;
    p.has_bias = bias;
    p.threads = view.spec().threads;
    return onednn::MakeMatmul(p, nullptr, nullptr);
  };
  AMPC_ASSIGN_OR_RETURN(cell.from_input, product(rows, gates, in, false, true, true));
  AMPC_ASSIGN_OR_RETURN(cell.from_state, product(s.batch, gates, s.hidden, false, true, false));
  AMPC_ASSIGN_OR_RETURN(cell.to_state, product(s.batch, s.hidden, gates, false, false, false));
  if (i >= s.directions || wants_input) {
    AMPC_ASSIGN_OR_RETURN(cell.to_input, product(rows, in, gates, false, false, false));
  }
  if (wants_weights) {
    AMPC_ASSIGN_OR_RETURN(cell.to_input_weight, product(gates, in, rows, true, false, false));
    AMPC_ASSIGN_OR_RETURN(cell.to_state_weight, product(gates, s.hidden, rows, true, false, false));
  }
  return cell;
}

void RnnGradient::PlanWorkspace() {
  const int64_t rows = s_.time * s_.batch, row = s_.hidden * s_.directions;
  int64_t product_bytes = 0;
  for (Cell& cell : cells_) {
    cell.kept = room_.Take(rows * kept_row());
    cell.before_h = room_.Take(rows * s_.hidden);
    if (before_c_ >= 0) cell.before_c = room_.Take(rows * s_.hidden);
    for (const auto* m :
         {&cell.from_input, &cell.from_state, &cell.to_input, &cell.to_state, &cell.to_input_weight, &cell.to_state_weight}) {
      if (*m != nullptr) product_bytes = std::max(product_bytes, (*m)->workspace_bytes());
    }
  }
  for (int64_t l = 0; l + 1 < s_.layers; ++l) outs_.push_back(room_.Take(rows * row));
  gates_ = room_.Take(rows * s_.gate_row());
  state_gates_ = s_.mode == RnnMode::kGru ? room_.Take(rows * s_.gate_row()) : gates_;
  step_ = room_.Take(s_.batch * s_.gate_row());
  h_ = room_.Take(s_.state());
  c_ = room_.Take(s_.state());
  bias_ = room_.Take(s_.gate_row());
  const int64_t widest = std::max(s_.layers > 1 ? row : 0, s_.features);
  for (int64_t& l : layer_) l = room_.Take(s_.layers > 1 ? rows * row : 0);
  part_ = room_.Take(s_.directions > 1 ? rows * widest : 0);
  product_ = room_.Take((product_bytes + 3) / 4);
  column_sum_ = RepeatSum({rows, s_.gate_row()}, {true, false});
}

// One step of all samples from the state in the workspace, whose value before is kept.
void RnnGradient::ForwardStep(const KernelArgs& args, const Cell& cell, int64_t t, float* out) const {
  const int64_t n = s_.hidden, row = n * s_.directions;
  const float* state_bias = In(args, cell.at[3]);
  ParallelFor(args.threads, s_.batch, std::max<int64_t>(1, kGrain / n), [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t i = t * s_.batch + b;
      const float *x = At(args, gates_) + i * s_.gate_row(), *from_state = At(args, step_) + b * s_.gate_row();
      float *h = At(args, h_) + b * n, *c = At(args, c_) + b * n, *kept = At(args, cell.kept) + i * kept_row();
      std::copy_n(h, n, At(args, cell.before_h) + i * n);
      if (before_c_ >= 0) std::copy_n(c, n, At(args, cell.before_c) + i * n);
      if (t >= lengths_.Of(args, b)) {  // the state stays
        if (out != nullptr) std::fill_n(out + i * row, n, 0.0f);
        continue;
      }
      switch (s_.mode) {
        case RnnMode::kLstm: simd::LstmRow(x, from_state, c, c, h, n, kept); break;
        case RnnMode::kGru: simd::GruRow(x, from_state, state_bias + 2 * n, h, h, n, kept); break;
        case RnnMode::kTanh:
          simd::TanhRow(x, from_state, h, n);
          std::copy_n(h, n, kept);
          break;
        case RnnMode::kRelu:
          simd::ReluRow(x, from_state, h, n);
          std::copy_n(h, n, kept);
          break;
      }
      if (out != nullptr) std::copy_n(h, n, out + i * row);
    }
  });
}

// `out`: this direction's part of what the next layer reads; null for the last layer.
absl::Status RnnGradient::Forward(const KernelArgs& args, int64_t number, const float* x, float* out) const {
  const Cell& cell = cells_[number];
  const int64_t state = number * s_.state();
  std::copy_n(In(args, before_h_) + state, s_.state(), At(args, h_));
  if (before_c_ >= 0) std::copy_n(In(args, before_c_) + state, s_.state(), At(args, c_));
  JoinBiases(s_, In(args, cell.at[2]), In(args, cell.at[3]), At(args, bias_));
  AMPC_RETURN_IF_ERROR(cell.from_input->Run({x, In(args, cell.at[0]), At(args, bias_), At(args, gates_), At(args, product_)}));
  const bool backward = number % s_.directions == 1;
  for (int64_t i = 0; i < s_.time; ++i) {
    AMPC_RETURN_IF_ERROR(cell.from_state->Run({At(args, h_), In(args, cell.at[1]), nullptr, At(args, step_), At(args, product_)}));
    ForwardStep(args, cell, backward ? s_.time - 1 - i : i, out);
  }
  return absl::OkStatus();
}

// `gradient`: of this direction's part of the layer's result. The state's gradients in the workspace go one step back; what reaches the
// state before through the gates is not in them yet.
void RnnGradient::BackwardStep(const KernelArgs& args, const Cell& cell, int64_t t, const float* gradient) const {
  const int64_t n = s_.hidden, row = n * s_.directions;
  ParallelFor(args.threads, s_.batch, std::max<int64_t>(1, kGrain / n), [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t i = t * s_.batch + b;
      float *h = At(args, h_) + b * n, *gates = At(args, gates_) + i * s_.gate_row(),
            *state_gates = At(args, state_gates_) + i * s_.gate_row();
      if (t >= lengths_.Of(args, b)) {
        std::fill_n(gates, s_.gate_row(), 0.0f);
        std::fill_n(state_gates, s_.gate_row(), 0.0f);
        continue;
      }
      const float *from = gradient + i * row, *kept = At(args, cell.kept) + i * kept_row();
      for (int64_t k = 0; k < n; ++k) h[k] += from[k];
      switch (s_.mode) {
        case RnnMode::kLstm: simd::LstmGradientRow(kept, At(args, cell.before_c) + i * n, h, At(args, c_) + b * n, gates, n); break;
        case RnnMode::kGru: simd::GruGradientRow(kept, At(args, cell.before_h) + i * n, h, gates, state_gates, n); break;
        case RnnMode::kTanh: simd::TanhGradientRow(kept, h, gates, n); break;
        case RnnMode::kRelu: simd::ReluGradientRow(kept, h, gates, n); break;
      }
      if (s_.mode != RnnMode::kGru) std::fill_n(h, n, 0.0f);
    }
  });
}

absl::Status RnnGradient::Backward(const KernelArgs& args, int64_t number, const float* gradient) const {
  const Cell& cell = cells_[number];
  const int64_t state = number * s_.state();
  float *const h = At(args, h_), *const through = At(args, step_);
  std::copy_n(In(args, gradient_h_) + state, s_.state(), h);
  if (gradient_c_ >= 0) std::copy_n(In(args, gradient_c_) + state, s_.state(), At(args, c_));
  const bool backward = number % s_.directions == 1;
  for (int64_t i = s_.time - 1; i >= 0; --i) {
    const int64_t t = backward ? s_.time - 1 - i : i;
    BackwardStep(args, cell, t, gradient);
    const float* gates = At(args, state_gates_) + t * s_.batch * s_.gate_row();
    AMPC_RETURN_IF_ERROR(cell.to_state->Run({gates, In(args, cell.at[1]), nullptr, through, At(args, product_)}));
    for (int64_t k = 0; k < s_.state(); ++k) h[k] += through[k];
  }
  if (float* to = Out(args, to_h_)) std::copy_n(h, s_.state(), to + state);
  if (float* to = Out(args, to_c_)) std::copy_n(At(args, c_), s_.state(), to + state);
  return absl::OkStatus();
}

// The gates' gradients of all steps are in the workspace.
absl::Status RnnGradient::GiveWeights(const KernelArgs& args, const Cell& cell, const float* x) const {
  if (first_weight_result_ < 0) return absl::OkStatus();
  const float *gates = At(args, gates_), *state_gates = At(args, state_gates_);
  float* const to[] = {Out(args, WeightResult(cell, 0)), Out(args, WeightResult(cell, 1)), Out(args, WeightResult(cell, 2)),
                       Out(args, WeightResult(cell, 3))};
  AMPC_RETURN_IF_ERROR(cell.to_input_weight->Run({gates, x, nullptr, to[0], At(args, product_)}));
  AMPC_RETURN_IF_ERROR(cell.to_state_weight->Run({state_gates, At(args, cell.before_h), nullptr, to[1], At(args, product_)}));
  column_sum_.Run(gates, to[2], args.threads);
  column_sum_.Run(state_gates, to[3], args.threads);
  return absl::OkStatus();
}

absl::Status RnnGradient::Run(const KernelArgs& args) const {
  AMPC_RETURN_IF_ERROR(lengths_.Check(args));
  const auto input_of = [&](int64_t layer) { return layer == 0 ? In(args, x_) : At(args, outs_[layer - 1]); };
  for (int64_t i = 0; i < s_.cells(); ++i) {
    const int64_t layer = i / s_.directions;
    float* out = layer + 1 < s_.layers ? At(args, outs_[layer]) + i % s_.directions * s_.hidden : nullptr;
    AMPC_RETURN_IF_ERROR(Forward(args, i, input_of(layer), out));
  }
  const float* gradient = In(args, gradient_);
  for (int64_t layer = s_.layers - 1; layer >= 0; --layer) {
    float* const to = layer == 0 ? Out(args, to_x_) : At(args, layer_[layer % 2]);
    const int64_t elements = s_.time * s_.batch * s_.features_of(layer * s_.directions);
    for (int64_t d = 0; d < s_.directions; ++d) {
      const Cell& cell = cells_[layer * s_.directions + d];
      AMPC_RETURN_IF_ERROR(Backward(args, layer * s_.directions + d, gradient + d * s_.hidden));
      AMPC_RETURN_IF_ERROR(GiveWeights(args, cell, input_of(layer)));
      if (to == nullptr) continue;
      float* const part = d == 0 ? to : At(args, part_);
      AMPC_RETURN_IF_ERROR(cell.to_input->Run({At(args, gates_), In(args, cell.at[0]), nullptr, part, At(args, product_)}));
      for (int64_t k = 0; d > 0 && k < elements; ++k) to[k] += part[k];
    }
    gradient = to;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> RnnGradient::Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("Input").dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(const RnnSizes s, ReadRnn(view));
  if (s.time == 0 || s.batch == 0) return view.Unsupported("the cpu kernel needs at least one step and one sample");
  const bool wants_input = view.Out("Input@GRAD") >= 0, wants_weights = view.Out("WeightList@GRAD") >= 0;
  std::vector<Cell> cells;
  for (int64_t i = 0; i < s.cells(); ++i) {
    absl::StatusOr<Cell> cell = MakeCell(view, s, i, wants_input, wants_weights);
    if (!cell.ok()) return Annotate(cell.status(), Describe(view.op()));
    cells.push_back(*std::move(cell));
  }
  std::unique_ptr<RnnGradient> kernel(new RnnGradient(s, std::move(cells)));
  AMPC_ASSIGN_OR_RETURN(kernel->lengths_, ReadLengths(view, s));
  kernel->x_ = view.In("Input");
  kernel->before_h_ = view.In("PreState", 0);
  kernel->before_c_ = view.In("PreState", 1);
  kernel->first_weight_ = view.In("WeightList");
  kernel->gradient_ = view.In("Out@GRAD");
  kernel->gradient_h_ = view.In("State@GRAD", 0);
  kernel->gradient_c_ = view.In("State@GRAD", 1);
  kernel->to_x_ = view.Out("Input@GRAD");
  kernel->to_h_ = view.Out("PreState@GRAD", 0);
  kernel->to_c_ = view.Out("PreState@GRAD", 1);
  kernel->first_weight_result_ = view.Out("WeightList@GRAD");
  kernel->PlanWorkspace();
  return kernel;
}

}  // namespace

absl::Status RegisterRnnGradient(KernelRegistry* registry) {
  return registry->Add({"rnn_grad", &RnnGradient::Make, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc
