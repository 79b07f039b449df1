// rnn: LSTM, GRU and simple recurrent networks of several layers and one or two directions. One matrix product per layer and direction has
// the part of the input in all gates of all steps; a step is a product with the state and a kernel for the gates. One run enqueues all
// steps. States stay f32, and with them the products that read them; the first layer's product with the input is in the type of the op.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/recurrent/rnn_cells.h"
#include "kernels/device/device.h"

namespace ampc::cuda {
namespace {

struct Cell {
  CellWeights weights;
  DeviceProduct from_input;
};

struct Rnn {
  RnnSizes s;
  RnnOperands operands;
  std::vector<Cell> cells;
  DeviceProduct from_state;  // of every cell
  F32Operands f32;
  int out = 0, after_h = 0, after_c = -1;  // flat results
  Room room;
  int64_t gates = 0, step = 0, h = 0, c = 0, layer[2] = {}, scratch = 0;  // in the workspace

  float* At(const KernelArgs& args, int64_t at) const { return reinterpret_cast<float*>(static_cast<char*>(args.workspace) + at); }
  absl::Status Run(const KernelArgs& args) const;
  absl::Status RunCell(const KernelArgs& args, int64_t number, const void* x) const;
};

absl::Status Rnn::RunCell(const KernelArgs& args, int64_t number, const void* x) const {
  Stream& stream = *args.stream;
  const Cell& cell = cells[number];
  const bool first = number < s.directions, last = number / s.directions + 1 == s.layers;
  const int64_t begin = number * s.state(), size = static_cast<int64_t>(SizeOf(operands.type)), row = s.directions * s.hidden;
  const auto load = [&](int flat, int64_t to) {
    return ConvertFloats(stream, static_cast<const char*>(args.inputs[flat]) + begin * size, operands.type, At(args, to), DType::kF32,
                         s.state());
  };
  AMPC_RETURN_IF_ERROR(load(operands.before_h, h));
  if (operands.before_c >= 0) AMPC_RETURN_IF_ERROR(load(operands.before_c, c));
  const void* const weight = first ? args.inputs[cell.weights.input] : f32.At(args, cell.weights.input);
  AMPC_RETURN_IF_ERROR(cell.from_input.Run(stream, {x, weight, nullptr, At(args, gates), nullptr}, At(args, scratch)));
  RnnForwardParams p;
  p.input_bias = args.inputs[cell.weights.input_bias];
  p.state_bias = args.inputs[cell.weights.state_bias];
  p.bias_type = operands.type;
  p.from_state = At(args, step);
  p.h = At(args, h);
  p.c = At(args, c);
  p.out_type = last ? operands.type : DType::kF32;
  p.out_row = row;
  char* const to = last ? static_cast<char*>(args.outputs[out]) : reinterpret_cast<char*>(At(args, layer[number / s.directions % 2]));
  for (int64_t i = 0; i < s.time; ++i) {
    const int64_t t = TimeOf(s, number, i);
    AMPC_RETURN_IF_ERROR(
        from_state.Run(stream, {p.h, f32.At(args, cell.weights.state), nullptr, At(args, step), nullptr}, At(args, scratch)));
    p.at = StepAt(s, operands, args, t);
    p.x = At(args, gates) + t * s.batch * s.gate_row();
    p.out = to + (t * s.batch * row + number % s.directions * s.hidden) * static_cast<int64_t>(SizeOf(p.out_type));
    AMPC_RETURN_IF_ERROR(stream.device().LaunchStatus(LaunchRnnForward(stream.native(), p), "cuda:rnn"));
  }
  const auto store = [&](int64_t from, int flat) {
    return ConvertFloats(stream, At(args, from), DType::kF32, static_cast<char*>(args.outputs[flat]) + begin * size, operands.type,
                         s.state());
  };
  AMPC_RETURN_IF_ERROR(store(h, after_h));
  return after_c < 0 ? absl::OkStatus() : store(c, after_c);
}

absl::Status Rnn::Run(const KernelArgs& args) const {
  if (s.state() == 0) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(f32.Convert(args));
  const void* x = args.inputs[operands.x];
  for (int64_t i = 0; i < s.cells(); ++i) {
    AMPC_RETURN_IF_ERROR(RunCell(args, i, x));
    if (i % s.directions + 1 == s.directions) x = At(args, layer[i / s.directions % 2]);
  }
  return absl::OkStatus();
}

absl::Status Plan(const SpecView& view, Rnn* r) {
  const KernelSpec& spec = view.spec();
  const RnnSizes& s = r->s;
  int64_t scratch = 0;
  AMPC_ASSIGN_OR_RETURN(r->from_state, MakeF32Product(*spec.device, s.batch, s.gate_row(), s.hidden, false, true));
  scratch = r->from_state.workspace_bytes();
  for (int64_t i = 0; i < s.cells(); ++i) {
    Cell cell;
    AMPC_ASSIGN_OR_RETURN(cell.weights, ReadCell(view, s, i));
    onednn::MatmulSpec product;
    product.m = s.time * s.batch;
    product.n = s.gate_row();
    product.k = s.features_of(i);
    product.trans_b = true;
    const DType factors = i < s.directions ? r->operands.type : DType::kF32;
    AMPC_ASSIGN_OR_RETURN(cell.from_input, DeviceProduct::Make(*spec.device, product, {.factors = factors, .result = DType::kF32}));
    scratch = std::max(scratch, cell.from_input.workspace_bytes());
    r->f32.Add(spec, cell.weights.state, &r->room);
    if (i >= s.directions) r->f32.Add(spec, cell.weights.input, &r->room);
    r->cells.push_back(std::move(cell));
  }
  r->gates = r->room.TakeFloats(s.time * s.batch * s.gate_row());
  r->step = r->room.TakeFloats(s.batch * s.gate_row());
  r->h = r->room.TakeFloats(s.state());
  r->c = r->room.TakeFloats(s.state());
  for (int64_t& l : r->layer) l = r->room.TakeFloats(s.layers > 1 ? s.time * s.state() * s.directions : 0);
  r->scratch = r->room.Take(scratch);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  Rnn r;
  AMPC_ASSIGN_OR_RETURN(r.s, ReadRnn(view));
  AMPC_ASSIGN_OR_RETURN(r.operands, ReadRnnOperands(view, r.s));
  r.out = view.Out("Out");
  r.after_h = view.Out("State", 0);
  r.after_c = view.Out("State", 1);
  if (const absl::Status status = Plan(view, &r); !status.ok()) return Annotate(status, Describe(view.op()));
  KernelTraits traits{.implementation = "cuda:rnn", .rounds_results = true, .workspace_bytes = r.room.bytes()};
  return MakeLambdaKernel(std::move(traits), [r = std::move(r)](const KernelArgs& args) { return r.Run(args); });
}

}  // namespace

absl::Status RegisterRnn(KernelRegistry* registry) { return registry->Add({"rnn", &Make, {DType::kF32, DType::kF16, DType::kBF16}}); }

}  // namespace ampc::cuda
