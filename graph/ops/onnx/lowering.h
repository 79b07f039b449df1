// Lowering: how one op of the ONNX dialect becomes native ops. The same function serves execution (the pass lower-onnx), inference (the
// types of the results are those of the native ops) and cost.
//
//   Var* y = l.Op("matmul_v2", {{"X", l.In("A")}, {"Y", l.In("B")}}, {{"trans_x", l.GetInt("transA") != 0}});
//   if (l.Has("C")) y = l.Op("elementwise_add", {{"X", y}, {"Y", l.In("C")}});
//   l.Result("Y", y);
//
// The first error, or the first thing that is not known, sticks and later calls do nothing sensible but stay safe: no var is ever null, so
// a function checks only what it branches on.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "graph/base/host_tensor.h"
#include "graph/evaluator.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/program.h"

namespace ampc::onnx {

// The quantised operations of one op each, for a target that has kernels of them; the rest is made of steps that every target has.
enum class QuantizedOps : uint8_t {
  kNone,
  kScales,
  kProducts
};  // affine_quantize and affine_dequantize; quantized_matmul and quantized_conv2d too

class Lowering {
 public:
  struct Operand {
    Operand(const char* slot_name, Var* var) : slot(slot_name), vars{var} {}
    Operand(const char* slot_name, std::vector<Var*> list) : slot(slot_name), vars(std::move(list)) {}
    const char* slot;
    std::vector<Var*> vars;
  };
  using Attrs = std::vector<Attr>;

  // The ops are made for `block`. `evaluator` may be null; with one, ops on small constants become constants at once.
  Lowering(const ampc::Op& op, Block& block, const Evaluator* evaluator, QuantizedOps quantized = QuantizedOps::kNone);

  // The op.

  const ampc::Op& op() const { return op_; }
  QuantizedOps quantized() const { return quantized_; }
  int since() const;
  // By formal name. In() of an absent operand is an error: the file's where the schema lets it be left out, else the record's.
  bool Has(absl::string_view formal) const;
  int Count(absl::string_view formal) const;
  Var* In(absl::string_view formal, int i = 0);
  bool WantsResult(absl::string_view formal) const;
  bool HasAttr(absl::string_view name) const;  // given explicitly
  int64_t GetInt(absl::string_view name) const { return op_.GetInt(name); }
  double GetFloat(absl::string_view name) const { return op_.GetFloat(name); }
  std::string GetString(absl::string_view name) const { return op_.GetString(name); }
  std::vector<int64_t> GetInts(absl::string_view name) const { return op_.GetInts(name); }
  std::vector<double> GetFloats(absl::string_view name) const { return op_.GetFloats(name); }
  DType GetDType(absl::string_view name, DType fallback) const { return op_.GetDType(name, fallback); }

  // Values.

  // The rank, or -1 and the state kNeedsShape.
  int Rank(const Var* var);
  // All dims where they are known; otherwise absent, and the state becomes kNeedsShape.
  std::optional<std::vector<int64_t>> Shape(const Var* var);
  // The constant behind the value, null when it is not known.
  const HostTensor* Value(const Var* var) const;
  std::optional<std::vector<int64_t>> Ints(const Var* var) const;
  std::optional<double> Float(const Var* var) const;
  // The same for what the lowering cannot do without: absent, and the state kNeedsShape, where it is not known yet.
  std::optional<std::vector<int64_t>> NeedInts(const Var* var);

  // Emission.

  // Emits a native op with one result in `slot` of interest, whose type is inferred.
  Var* Op(absl::string_view type, std::vector<Operand> operands, Attrs attrs = {}, absl::string_view slot = "Out");
  // With one result in each of `slots`; a variadic slot may be named several times, one after the other.
  std::vector<Var*> Ops(absl::string_view type, std::vector<Operand> operands, Attrs attrs, std::vector<absl::string_view> slots);
  // With `count` results in one variadic slot.
  std::vector<Var*> OpList(absl::string_view type, std::vector<Operand> operands, Attrs attrs, absl::string_view slot, int count);
  Var* Const(HostTensor value);
  Var* Const(const std::vector<int64_t>& values);  // i64 [n]
  Var* ConstScalar(double value, DType dtype);     // rank 0
  // `x` in another type: itself, or a `cast`.
  Var* Cast(Var* x, DType dtype);
  // Shape changes by constants.
  Var* Reshape(Var* x, std::vector<int64_t> dims);  // 0 and -1 as in reshape2
  Var* Transpose(Var* x, std::vector<int> perm);
  Var* Squeeze(Var* x, std::vector<int64_t> axes);
  Var* Unsqueeze(Var* x, std::vector<int64_t> axes);
  // Two operands, broadcast as in numpy.
  Var* Binary(absl::string_view type, Var* x, Var* y);
  // Before operator set 7 the second operand of a node with `broadcast` lies along the dims of the first from `axis` on: `y` with
  // ones behind it.
  Var* AlongAxis(Var* x, Var* y);
  // `value` is the result of that formal.
  void Result(absl::string_view formal, Var* value, int i = 0);
  // The whole op is the native op `type`, with the same slots and attributes that matter to neither.
  void SameAs(absl::string_view type);

  // States.

  void Fail(absl::Status error);             // the op is wrong, or does something that is not supported
  void Unsupported(absl::string_view what);  // exit 4, with the op's place
  void NeedsShape(absl::string_view what);   // it could be lowered if `what` were known
  bool ok() const { return status_.ok() && !needs_shape_; }
  const absl::Status& status() const { return status_; }
  bool needs_shape() const { return needs_shape_; }
  const std::string& needed() const { return needed_; }

  // Whether this process can hold such a tensor, unknown dims counting as 1; the state where not. Asked before anything is made whose size
  // the op's operands or attributes tell.
  bool CanHold(DType dtype, absl::Span<const int64_t> dims);

  // For who runs it: the ops in order, and what each result of the op is (null for one that was not set).
  std::vector<std::unique_ptr<ampc::Op>> TakeOps() { return std::move(ops_); }
  const std::vector<Var*>& results() const { return results_; }
  Block& block() { return block_; }

 private:
  Var* NewVar(TensorType type);
  // The operand of the node that a value was made of; null where it is none's.
  const Var* Source(const Var* var) const;
  // An error of a native op in the names that the file has: those of the node and of its operands.
  absl::Status InNamesOfTheNode(const absl::Status& status, const ampc::Op& op) const;
  std::vector<Var*> Emit(absl::string_view type, std::vector<Operand>& operands, Attrs& attrs, std::vector<std::pair<int, int>> results);

  const ampc::Op& op_;
  Block& block_;
  const Evaluator* evaluator_;
  const QuantizedOps quantized_;
  absl::Status status_;
  bool needs_shape_ = false;
  std::string needed_;
  std::vector<std::unique_ptr<ampc::Op>> ops_;
  std::vector<Var*> results_;
};

}  // namespace ampc::onnx
