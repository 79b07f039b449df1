#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {

OnnxOp& OnnxOp::SameAs(std::string native_op, std::vector<std::string> in, std::vector<std::string> out) {
  native = std::move(native_op);
  same = true;
  in_slots = std::move(in);
  out_slots = std::move(out);
  return *this;
}

OnnxOp& OnnxOp::Like(std::string native_op) {
  native = std::move(native_op);
  return *this;
}

OnnxOp& OnnxOp::Amp(AmpClass c, std::string reason) {
  amp = c;
  amp_reason = std::move(reason);
  return *this;
}

OnnxOp& OnnxOp::AmpWhen(AmpClassFn fn) {
  amp_when = fn;
  return *this;
}

OnnxOp& OnnxOp::Lower(LowerFn fn) {
  lower = fn;
  return *this;
}

OnnxOp& OnnxOp::Infer(InferFn fn) {
  infer = fn;
  return *this;
}

OnnxOp& OnnxOp::Fp32(std::vector<std::string> formals) {
  for (std::string& formal : formals) precision.emplace_back(std::move(formal), SlotPrecision::kFp32);
  return *this;
}

OnnxOp& OnnxOp::AsIs(std::vector<std::string> formals) {
  for (std::string& formal : formals) precision.emplace_back(std::move(formal), SlotPrecision::kAsIs);
  return *this;
}

OnnxOp& OnnxOp::Impure() {
  pure = false;
  return *this;
}

OnnxOp& OnnxOp::TakesSequences() {
  sequences = true;
  return *this;
}

OnnxOp& OnnxOp::Traits(std::initializer_list<OpTrait> some) {
  for (const OpTrait trait : some) traits |= static_cast<uint32_t>(trait);
  return *this;
}

OnnxOp& OnnxOp::BoundsAre(BoundsFn fn) {
  bounds = fn;
  return *this;
}

OnnxOp& OnnxOp::Weights(WeightUse use) {
  weight_use = use;
  return *this;
}

OnnxOp& OnnxOp::LowOnCuda() {
  low_on_cuda = true;
  return *this;
}

OnnxOp& OnnxOp::Use(std::string attr, AttrUse use) {
  uses.emplace_back(std::move(attr), use);
  return *this;
}

OnnxOp& OnnxOps::Add(std::string type) {
  ops_.emplace_back();
  ops_.back().type = std::move(type);
  return ops_.back();
}

}  // namespace ampc::onnx
