// OnnxOp: the record of one ONNX operator: what its schemas (schema.h) leave open. It makes the OpDef `onnx.<Type>.<since>`
// of each version.
//
//   void AddActivations(OnnxOps& ops) {
//     ops.Add("Relu").SameAs("relu");                       // slots, inference, AMP class, cost, lowering are the native record's
//     ops.Add("Softmax").Like("softmax").Lower(&LowerSoftmax);  // AMP class, traits and bounds of the native record; types and cost by
//     lowering
//   }
#pragma once

#include <deque>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "graph/ops/onnx/schema.h"

namespace ampc::onnx {

class Lowering;
using LowerFn = void (*)(Lowering& l);

struct OnnxOp {
  std::string type;
  std::string native;                            // the op of ours with the same or nearly the same meaning; "" for none
  bool same = false;                             // operands and results correspond one to one, and no attribute matters
  std::vector<std::string> in_slots, out_slots;  // SameAs: names of the native record
  LowerFn lower = nullptr;                       // null: it cannot be executed
  InferFn infer = nullptr;                       // null: by lowering
  AmpClass amp = AmpClass::kNever;               // without a native op
  std::string amp_reason;
  AmpClassFn amp_when = nullptr;
  bool pure = true;
  bool sequences = false;                                        // an operand may be a sequence of tensors, where the schema says so
  std::vector<std::pair<std::string, SlotPrecision>> precision;  // of formals that do not follow the op's compute type
  uint32_t traits = 0;                                           // beside those of the native op
  BoundsFn bounds = nullptr;                                     // null: as the native op's
  WeightUse weight_use = WeightUse::kNone;                       // not the native op's: attributes and operands differ
  bool low_on_cuda = false;                                      // although the native op is not
  std::vector<std::pair<std::string, AttrUse>> uses;             // of attributes, where a version has them

  // The operands in order are the slots `in` of the native record (its required and optional slots in order when empty), the results `out`.
  OnnxOp& SameAs(std::string native_op, std::vector<std::string> in = {}, std::vector<std::string> out = {});
  OnnxOp& Like(std::string native_op);
  OnnxOp& Amp(AmpClass c, std::string reason);
  OnnxOp& AmpWhen(AmpClassFn fn);
  OnnxOp& Lower(LowerFn fn);
  OnnxOp& Infer(InferFn fn);
  // Formals (of any version) whose operand stays fp32, or as it is. Operands that can only be integers or bool are kAsIs anyway.
  OnnxOp& Fp32(std::vector<std::string> formals);
  OnnxOp& AsIs(std::vector<std::string> formals);
  OnnxOp& Impure();
  OnnxOp& TakesSequences();
  OnnxOp& Traits(std::initializer_list<OpTrait> some);
  OnnxOp& BoundsAre(BoundsFn fn);
  OnnxOp& Weights(WeightUse use);
  OnnxOp& LowOnCuda();
  OnnxOp& Use(std::string attr, AttrUse use);
};

// The record of one version of an operator. Every OpDef whose name starts with "onnx." or "com.microsoft." and that is not opaque is
// one of these.
struct OnnxDef : OpDef {
  using OpDef::OpDef;
  const Schema* schema = nullptr;
  const OnnxOp* op = nullptr;
};

class OnnxOps {
 public:
  OnnxOp& Add(std::string type);
  const std::deque<OnnxOp>& all() const { return ops_; }

 private:
  std::deque<OnnxOp> ops_;  // references stay valid
};

}  // namespace ampc::onnx
