// Sequences of tensors, which are arrays, and optional values, which are what they hold: whether one is there is known before the program
// runs.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {
namespace {

void LowerSequenceEmpty(Lowering& l) {
  l.Result("output", l.Op("sequence_construct", {}, {{"dtype", l.HasAttr("dtype") ? l.GetDType("dtype", DType::kF32) : DType::kF32}}));
}

void LowerSequenceLength(Lowering& l) { l.Result("length", l.Squeeze(l.Op("lod_array_length", {{"X", l.In("input_sequence")}}), {0})); }

void LowerConcatFromSequence(Lowering& l) {
  const int64_t stack = l.GetInt("new_axis");
  if (stack != 0 && stack != 1) return Wrong(l, absl::StrCat("new_axis is ", stack, ", needs 0 or 1"));
  l.Result("concat_result", l.Op("tensor_array_to_tensor", {{"X", l.In("input_sequence")}},
                                 {{"axis", WholeNumber(l.GetInt("axis"))}, {"use_stack", stack == 1}}));
}

void LowerSplitToSequence(Lowering& l) {
  std::vector<Lowering::Operand> operands = {{"X", l.In("input")}};
  if (l.Has("split")) operands.emplace_back("Split", l.In("split"));
  l.Result("output_sequence",
           l.Op("split_to_sequence", std::move(operands), {{"axis", l.GetInt("axis")}, {"keepdims", l.GetInt("keepdims") != 0}}));
}

void LowerOptional(Lowering& l) {
  if (!l.Has("input")) return l.Unsupported("an optional value that is not there cannot be executed");
  l.Result("output", l.Op("assign", {{"X", l.In("input")}}));
}

void LowerHasElement(Lowering& l) { l.Result("output", l.ConstScalar(l.Has("input") ? 1 : 0, DType::kBool)); }

}  // namespace

void AddSequence(OnnxOps& ops) {
  const char* moves = "hands values on; the elements of a sequence keep one type";
  ops.Add("SequenceEmpty").Amp(AmpClass::kNever, moves).Lower(&LowerSequenceEmpty);
  ops.Add("SequenceConstruct").SameAs("sequence_construct");
  ops.Add("SequenceInsert").SameAs("sequence_insert").TakesSequences();
  ops.Add("SequenceErase").SameAs("sequence_erase").TakesSequences();
  ops.Add("SequenceAt").SameAs("sequence_at").TakesSequences();
  ops.Add("SequenceLength").Like("lod_array_length").Lower(&LowerSequenceLength).TakesSequences();
  ops.Add("SplitToSequence").Like("split_to_sequence").Lower(&LowerSplitToSequence);
  ops.Add("ConcatFromSequence").Like("tensor_array_to_tensor").Lower(&LowerConcatFromSequence).TakesSequences();
  ops.Add("Optional").Amp(AmpClass::kNever, moves).Lower(&LowerOptional).TakesSequences();
  ops.Add("OptionalGetElement").Amp(AmpClass::kNever, moves).Lower(&LowerOptional).TakesSequences();
  ops.Add("OptionalHasElement").Amp(AmpClass::kNever, "says whether there is a value").Lower(&LowerHasElement).TakesSequences();
}

}  // namespace ampc::onnx
