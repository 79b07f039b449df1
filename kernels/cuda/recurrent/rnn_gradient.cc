// The gradient of rnn. The forward pass is repeated and keeps the gates of every step; then each cell goes back in time, and the gradients
// of its weights and of its input are one matrix product each. All in f32; results are rounded once.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/matmul/strided_sum_plan.h"
#include "kernels/cuda/recurrent/rnn_cells.h"
#include "kernels/device/device.h"

namespace ampc::cuda {
namespace {

// One layer in one direction.
struct Cell {
  CellWeights weights;
  DeviceProduct from_input;
  DeviceProduct to_input, add_to_input;  // gradient of the layer's input; of the second direction, which adds to the first's
  DeviceProduct to_input_weight;
  int64_t kept = 0, before_h = 0, before_c = 0;  // in the workspace: [time, batch, ..]
};

struct RnnGradient {
  RnnSizes s;
  RnnOperands operands;
  std::vector<Cell> cells;
  DeviceProduct from_state, to_state, to_state_weight;  // of every cell
  F32Operands f32;
  int gradient = 0, gradient_h = -1, gradient_c = -1, first_weight = 0;  // flat operands
  int to_x = -1, to_h = -1, to_c = -1, first_weight_result = -1;         // flat results; -1: not wanted
  Room room;
  // In the workspace.
  int64_t gates = 0, state_gates = 0, step = 0, h = 0, c = 0, layer[2] = {}, input_gradient = 0, weight = 0, scratch = 0;
  std::vector<int64_t> outs;  // per layer but the last: what it gives the next one
  StridedSumParams bias_sum;

  float* At(const KernelArgs& args, int64_t at) const { return reinterpret_cast<float*>(static_cast<char*>(args.workspace) + at); }
  int64_t rows() const { return s.time * s.batch; }
  int64_t size() const { return static_cast<int64_t>(SizeOf(operands.type)); }
  const float* InputOf(const KernelArgs& args, int64_t l) const { return l == 0 ? f32.At(args, operands.x) : At(args, outs[l - 1]); }

  absl::Status LoadState(const KernelArgs& args, int flat, int64_t cell, int64_t to) const;
  absl::Status StoreState(const KernelArgs& args, int64_t from, int64_t cell, int flat) const;
  absl::Status Forward(const KernelArgs& args, int64_t number) const;
  absl::Status Backward(const KernelArgs& args, int64_t number, const void* from, DType type) const;
  absl::Status GiveWeights(const KernelArgs& args, int64_t number) const;
  absl::Status GiveWeight(const KernelArgs& args, const DeviceProduct& product, const float* a, const float* b, int flat, int64_t n) const;
  absl::Status Run(const KernelArgs& args) const;
};

absl::Status RnnGradient::LoadState(const KernelArgs& args, int flat, int64_t cell, int64_t to) const {
  const char* const from = static_cast<const char*>(args.inputs[flat]) + cell * s.state() * size();
  return ConvertFloats(*args.stream, from, operands.type, At(args, to), DType::kF32, s.state());
}

absl::Status RnnGradient::StoreState(const KernelArgs& args, int64_t from, int64_t cell, int flat) const {
  if (flat < 0) return absl::OkStatus();
  char* const to = static_cast<char*>(args.outputs[flat]) + cell * s.state() * size();
  return ConvertFloats(*args.stream, At(args, from), DType::kF32, to, operands.type, s.state());
}

absl::Status RnnGradient::Forward(const KernelArgs& args, int64_t number) const {
  Stream& stream = *args.stream;
  const Cell& cell = cells[number];
  const int64_t l = number / s.directions, row = s.directions * s.hidden;
  AMPC_RETURN_IF_ERROR(LoadState(args, operands.before_h, number, h));
  if (operands.before_c >= 0) AMPC_RETURN_IF_ERROR(LoadState(args, operands.before_c, number, c));
  AMPC_RETURN_IF_ERROR(cell.from_input.Run(stream, {InputOf(args, l), f32.At(args, cell.weights.input), nullptr, At(args, gates), nullptr},
                                           At(args, scratch)));
  RnnForwardParams p;
  p.input_bias = args.inputs[cell.weights.input_bias];
  p.state_bias = args.inputs[cell.weights.state_bias];
  p.bias_type = operands.type;
  p.from_state = At(args, step);
  p.h = At(args, h);
  p.c = At(args, c);
  p.out_row = row;
  for (int64_t i = 0; i < s.time; ++i) {
    const int64_t t = TimeOf(s, number, i), first = t * s.batch;
    AMPC_RETURN_IF_ERROR(
        from_state.Run(stream, {p.h, f32.At(args, cell.weights.state), nullptr, At(args, step), nullptr}, At(args, scratch)));
    p.at = StepAt(s, operands, args, t);
    p.x = At(args, gates) + first * s.gate_row();
    p.kept = At(args, cell.kept) + first * RnnKept(s.mode) * s.hidden;
    p.before_h = At(args, cell.before_h) + first * s.hidden;
    if (operands.before_c >= 0) p.before_c = At(args, cell.before_c) + first * s.hidden;
    if (l + 1 < s.layers) p.out = At(args, outs[l]) + first * row + number % s.directions * s.hidden;
    AMPC_RETURN_IF_ERROR(stream.device().LaunchStatus(LaunchRnnForward(stream.native(), p), "cuda:rnn"));
  }
  return absl::OkStatus();
}

// `from`: the gradient of the layer's result, this direction's part.
absl::Status RnnGradient::Backward(const KernelArgs& args, int64_t number, const void* from, DType type) const {
  Stream& stream = *args.stream;
  const Cell& cell = cells[number];
  const int64_t row = s.directions * s.hidden;
  AMPC_RETURN_IF_ERROR(LoadState(args, gradient_h, number, h));
  if (gradient_c >= 0) AMPC_RETURN_IF_ERROR(LoadState(args, gradient_c, number, c));
  RnnBackwardParams p;
  p.gradient_type = type;
  p.gradient_row = row;
  p.h = At(args, h);
  p.c = At(args, c);
  for (int64_t i = s.time - 1; i >= 0; --i) {
    const int64_t t = TimeOf(s, number, i), first = t * s.batch;
    p.at = StepAt(s, operands, args, t);
    p.kept = At(args, cell.kept) + first * RnnKept(s.mode) * s.hidden;
    p.before_h = At(args, cell.before_h) + first * s.hidden;
    p.before_c = At(args, cell.before_c) + first * s.hidden;
    p.gradient = static_cast<const char*>(from) + first * row * static_cast<int64_t>(SizeOf(type));
    p.gates = At(args, gates) + first * s.gate_row();
    p.state_gates = At(args, state_gates) + first * s.gate_row();
    AMPC_RETURN_IF_ERROR(stream.device().LaunchStatus(LaunchRnnBackward(stream.native(), p), "cuda:rnn_grad"));
    AMPC_RETURN_IF_ERROR(to_state.Run(stream, {p.state_gates, f32.At(args, cell.weights.state), nullptr, p.h, nullptr}, At(args, scratch)));
  }
  AMPC_RETURN_IF_ERROR(StoreState(args, h, number, to_h));
  return StoreState(args, c, number, to_c);
}

absl::Status RnnGradient::GiveWeight(const KernelArgs& args, const DeviceProduct& product, const float* a, const float* b, int flat,
                                     int64_t n) const {
  void* const to = operands.type == DType::kF32 ? args.outputs[flat] : At(args, weight);
  AMPC_RETURN_IF_ERROR(product.Run(*args.stream, {a, b, nullptr, to, nullptr}, At(args, scratch)));
  return to == args.outputs[flat] ? absl::OkStatus() : ConvertFloats(*args.stream, to, DType::kF32, args.outputs[flat], operands.type, n);
}

// The gates' gradients of all steps are in the workspace.
absl::Status RnnGradient::GiveWeights(const KernelArgs& args, int64_t number) const {
  if (first_weight_result < 0) return absl::OkStatus();
  const Cell& cell = cells[number];
  const auto result = [this](int flat) { return first_weight_result + flat - first_weight; };
  const float *from_gates = At(args, gates), *from_state_gates = At(args, state_gates);
  const int64_t features = s.features_of(number);
  AMPC_RETURN_IF_ERROR(GiveWeight(args, cell.to_input_weight, from_gates, InputOf(args, number / s.directions), result(cell.weights.input),
                                  s.gate_row() * features));
  AMPC_RETURN_IF_ERROR(
      GiveWeight(args, to_state_weight, from_state_gates, At(args, cell.before_h), result(cell.weights.state), s.gate_row() * s.hidden));
  AMPC_RETURN_IF_ERROR(RunStridedSum(*args.stream, bias_sum, from_gates, args.outputs[result(cell.weights.input_bias)]));
  return RunStridedSum(*args.stream, bias_sum, from_state_gates, args.outputs[result(cell.weights.state_bias)]);
}

absl::Status RnnGradient::Run(const KernelArgs& args) const {
  AMPC_RETURN_IF_ERROR(f32.Convert(args));
  for (int64_t i = 0; i < s.cells(); ++i) AMPC_RETURN_IF_ERROR(Forward(args, i));
  const void* from = args.inputs[gradient];
  DType type = operands.type;
  for (int64_t l = s.layers - 1; l >= 0; --l) {
    const bool narrow = l == 0 && operands.type != DType::kF32;
    void* const to = l > 0 ? At(args, layer[l % 2]) : to_x < 0 ? nullptr : narrow ? At(args, input_gradient) : args.outputs[to_x];
    for (int64_t d = 0; d < s.directions; ++d) {
      const int64_t number = l * s.directions + d;
      const Cell& cell = cells[number];
      AMPC_RETURN_IF_ERROR(
          Backward(args, number, static_cast<const char*>(from) + d * s.hidden * static_cast<int64_t>(SizeOf(type)), type));
      AMPC_RETURN_IF_ERROR(GiveWeights(args, number));
      if (to == nullptr) continue;
      const DeviceProduct& product = d == 0 ? cell.to_input : cell.add_to_input;
      AMPC_RETURN_IF_ERROR(
          product.Run(*args.stream, {At(args, gates), f32.At(args, cell.weights.input), nullptr, to, nullptr}, At(args, scratch)));
    }
    from = to;
    type = DType::kF32;
  }
  if (to_x < 0 || operands.type == DType::kF32) return absl::OkStatus();
  return ConvertFloats(*args.stream, from, DType::kF32, args.outputs[to_x], operands.type, rows() * s.features);
}

absl::StatusOr<Cell> MakeCell(const SpecView& view, RnnGradient* r, int64_t i) {
  const KernelSpec& spec = view.spec();
  const RnnSizes& s = r->s;
  Device& device = *spec.device;
  const int64_t rows = r->rows(), gates = s.gate_row(), in = s.features_of(i);
  Cell cell;
  AMPC_ASSIGN_OR_RETURN(cell.weights, ReadCell(view, s, i));
  AMPC_ASSIGN_OR_RETURN(cell.from_input, MakeF32Product(device, rows, gates, in, false, true));
  AMPC_ASSIGN_OR_RETURN(cell.to_input, MakeF32Product(device, rows, in, gates, false, false));
  AMPC_ASSIGN_OR_RETURN(cell.add_to_input, MakeF32Product(device, rows, in, gates, false, false, true));
  AMPC_ASSIGN_OR_RETURN(cell.to_input_weight, MakeF32Product(device, gates, in, rows, true, false));
  cell.kept = r->room.TakeFloats(rows * RnnKept(s.mode) * s.hidden);
  cell.before_h = r->room.TakeFloats(rows * s.hidden);
  cell.before_c = r->room.TakeFloats(r->operands.before_c >= 0 ? rows * s.hidden : 0);
  r->f32.Add(spec, cell.weights.input, &r->room);
  r->f32.Add(spec, cell.weights.state, &r->room);
  return cell;
}

absl::Status Plan(const SpecView& view, RnnGradient* r) {
  Device& device = *view.spec().device;
  const RnnSizes& s = r->s;
  const int64_t rows = r->rows(), gates = s.gate_row(), row = s.hidden * s.directions;
  AMPC_ASSIGN_OR_RETURN(r->from_state, MakeF32Product(device, s.batch, gates, s.hidden, false, true));
  AMPC_ASSIGN_OR_RETURN(r->to_state, MakeF32Product(device, s.batch, s.hidden, gates, false, false, true, StepAlignment(s.batch * gates)));
  AMPC_ASSIGN_OR_RETURN(r->to_state_weight, MakeF32Product(device, gates, s.hidden, rows, true, false));
  int64_t scratch = std::max({r->from_state.workspace_bytes(), r->to_state.workspace_bytes(), r->to_state_weight.workspace_bytes()});
  r->f32.Add(view.spec(), r->operands.x, &r->room);
  for (int64_t i = 0; i < s.cells(); ++i) {
    AMPC_ASSIGN_OR_RETURN(Cell cell, MakeCell(view, r, i));
    for (const DeviceProduct* p : {&cell.from_input, &cell.to_input, &cell.add_to_input, &cell.to_input_weight}) {
      scratch = std::max(scratch, p->workspace_bytes());
    }
    r->cells.push_back(std::move(cell));
  }
  for (int64_t l = 0; l + 1 < s.layers; ++l) r->outs.push_back(r->room.TakeFloats(rows * row));
  r->gates = r->room.TakeFloats(rows * gates);
  r->state_gates = s.mode == RnnMode::kGru ? r->room.TakeFloats(rows * gates) : r->gates;
  r->step = r->room.TakeFloats(s.batch * gates);
  r->h = r->room.TakeFloats(s.state());
  r->c = r->room.TakeFloats(s.state());
  for (int64_t& l : r->layer) l = r->room.TakeFloats(s.layers > 1 ? rows * row : 0);
  const bool narrow = r->operands.type != DType::kF32;
  r->input_gradient = r->room.TakeFloats(narrow && r->to_x >= 0 ? rows * s.features : 0);
  r->weight = r->room.TakeFloats(narrow ? gates * std::max({s.features, s.hidden, s.layers > 1 ? row : 0}) : 0);
  r->scratch = r->room.Take(scratch);
  AMPC_ASSIGN_OR_RETURN(r->bias_sum, PlanDenseSum({rows, gates}, {true, false}, DType::kF32, r->operands.type));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  RnnGradient r;
  AMPC_ASSIGN_OR_RETURN(r.s, ReadRnn(view));
  AMPC_ASSIGN_OR_RETURN(r.operands, ReadRnnOperands(view, r.s));
  if (r.s.time == 0 || r.s.batch == 0) return view.Unsupported("the kernel needs at least one step and one sample");
  r.gradient = view.In("Out@GRAD");
  r.gradient_h = view.In("State@GRAD", 0);
  r.gradient_c = view.In("State@GRAD", 1);
  r.first_weight = view.In("WeightList");
  r.to_x = view.Out("Input@GRAD");
  r.to_h = view.Out("PreState@GRAD", 0);
  r.to_c = view.Out("PreState@GRAD", 1);
  r.first_weight_result = view.Out("WeightList@GRAD");
  if (const absl::Status status = Plan(view, &r); !status.ok()) return Annotate(status, Describe(view.op()));
  KernelTraits traits{.implementation = "cuda:rnn_grad", .rounds_results = true, .workspace_bytes = r.room.bytes()};
  return MakeLambdaKernel(std::move(traits), [r = std::move(r)](const KernelArgs& args) { return r.Run(args); });
}

}  // namespace

absl::Status RegisterRnnGradient(KernelRegistry* registry) {
  return registry->Add({"rnn_grad", &Make, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc::cuda
