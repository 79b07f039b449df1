#include "kernels/cuda/recurrent/rnn_cells.h"

#include "graph/base/status_macros.h"
#include "kernels/cuda/matmul/strided_sum_plan.h"

namespace ampc::cuda {

absl::Status ConvertFloats(Stream& stream, const void* from, DType from_type, void* to, DType to_type, int64_t n) {
  if (from_type == to_type) return stream.CopyOnDevice(to, from, n * static_cast<int64_t>(SizeOf(to_type)));
  AMPC_ASSIGN_OR_RETURN(const StridedSumParams copy, PlanDenseSum({n}, {false}, from_type, to_type));
  return RunStridedSum(stream, copy, from, to);
}

void F32Operands::Add(const KernelSpec& spec, int flat, Room* room) {
  const TensorDesc& desc = spec.inputs[flat];
  if (desc.dtype == DType::kF32 || copies_.contains(flat)) return;
  copies_[flat] = {desc.dtype, desc.NumElements(), room->TakeFloats(desc.NumElements())};
}

absl::Status F32Operands::Convert(const KernelArgs& args) const {
  for (const auto& [flat, copy] : copies_) {
    void* const to = static_cast<char*>(args.workspace) + copy.at;
    AMPC_RETURN_IF_ERROR(ConvertFloats(*args.stream, args.inputs[flat], copy.type, to, DType::kF32, copy.elements));
  }
  return absl::OkStatus();
}

const float* F32Operands::At(const KernelArgs& args, int flat) const {
  const auto copy = copies_.find(flat);
  if (copy == copies_.end()) return static_cast<const float*>(args.inputs[flat]);
  return reinterpret_cast<const float*>(static_cast<const char*>(args.workspace) + copy->second.at);
}

absl::StatusOr<RnnOperands> ReadRnnOperands(const SpecView& view, const RnnSizes& s) {
  RnnOperands o{view.In("Input"), view.In("PreState", 0), view.In("PreState", 1), view.In("SequenceLength"), DType::kI32, DType::kF32};
  o.type = view.InDesc("Input").dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType(o.type, {DType::kF32}));
  for (const char* slot : {"PreState", "WeightList"}) {
    for (int i = 0; i < view.NumIn(slot); ++i) {
      if (view.InDesc(slot, i).dtype != o.type) return view.Unsupported("the device kernel takes floats of one type");
    }
  }
  if (o.lengths < 0) return o;
  o.length_type = view.InDesc("SequenceLength").dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType(o.length_type, {DType::kI32, DType::kI64}));
  if (view.InDesc("SequenceLength").NumElements() != s.batch) return view.Internal("SequenceLength needs one number per sample");
  return o;
}

absl::StatusOr<CellWeights> ReadCell(const SpecView& view, const RnnSizes& s, int64_t cell) {
  const int at = static_cast<int>(2 * cell), biases = static_cast<int>(2 * s.cells()) + at;
  const CellWeights w{view.In("WeightList", at), view.In("WeightList", at + 1), view.In("WeightList", biases),
                      view.In("WeightList", biases + 1)};
  const std::vector<TensorDesc>& in = view.spec().inputs;
  const int64_t gates = s.gate_row();
  if (in[w.input].NumElements() != gates * s.features_of(cell) || in[w.state].NumElements() != gates * s.hidden ||
      in[w.input_bias].NumElements() != gates || in[w.state_bias].NumElements() != gates) {
    return view.Internal("a weight does not fit");
  }
  return w;
}

absl::StatusOr<DeviceProduct> MakeF32Product(Device& device, int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b, bool adds,
                                             int64_t alignment) {
  onednn::MatmulSpec s;
  s.m = m;
  s.n = n;
  s.k = k;
  s.trans_a = trans_a;
  s.trans_b = trans_b;
  return DeviceProduct::Make(device, s, {.beta = adds ? 1.0 : 0.0, .alignment = alignment});
}

int64_t StepAlignment(int64_t row) {
  int64_t alignment = 64;
  while (row * static_cast<int64_t>(sizeof(float)) % alignment != 0) alignment /= 2;
  return alignment;
}

RnnStepAt StepAt(const RnnSizes& s, const RnnOperands& operands, const KernelArgs& args, int64_t t) {
  return {s.mode, t, s.batch, s.hidden, operands.lengths < 0 ? nullptr : args.inputs[operands.lengths], operands.length_type};
}

}  // namespace ampc::cuda
