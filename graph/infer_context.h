// InferContext: what an op's inference function sees: types and known values of operands, attributes; and where it puts
// the result types. Verification, import and plan building run the same functions with different environments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "graph/base/size.h"
#include "graph/op.h"

namespace ampc {

// The source of operand types and values.
class TypeEnv {
 public:
  virtual ~TypeEnv() = default;
  virtual const TensorType& TypeOf(const Var& var) const { return var.type; }
  // The value where it is known at compile time (a literal, folded shape arithmetic), else null.
  virtual const HostTensor* ValueOf(const Var& var) const { return var.literal.get(); }
  // Whether memory is planned by the results: a result has the size that is computed, whatever its declaration says.
  virtual bool PlansMemory() const { return false; }
  // The bytes that a result may have at most. A program that is only read may be meant for another machine.
  virtual int64_t MostBytesOfResult() const { return kMostAddresses; }
};

class InferContext {
 public:
  InferContext(const Op& op, const TypeEnv& env);

  const Op& op() const { return op_; }
  bool PlansMemory() const { return env_.PlansMemory(); }
  bool Has(absl::string_view slot) const;
  int Count(absl::string_view slot) const;  // operands in the slot
  // Type of operand `i` of the slot; the slot must not be empty (required slots are checked before inference runs).
  const TensorType& In(absl::string_view slot, int i = 0) const;
  // The operand's elements when its value is known: integers of any width.
  std::optional<std::vector<int64_t>> Ints(absl::string_view slot, int i = 0) const;
  std::optional<double> Float(absl::string_view slot) const;

  int NumOut(absl::string_view slot) const;  // results the op has in the slot
  // Sets a result type; a slot without results is ignored, so inference need not ask which optional results exist.
  void Out(absl::string_view slot, TensorType type) { Out(slot, 0, std::move(type)); }
  void Out(absl::string_view slot, int i, TensorType type);

  // Errors with the op's place; `rule` names the constraint, as in "conv2d.c2".
  absl::Status Error(absl::string_view what, absl::string_view rule) const;
  absl::Status CheckRank(absl::string_view slot, int rank, absl::string_view rule) const;
  // An axis attribute normalised to [0, rank); negative counts from the end.
  absl::StatusOr<int> Axis(int64_t axis, int rank, absl::string_view rule) const;
  // All float operands in kFollow slots must have one dtype.
  absl::Status CheckSameFloat(absl::string_view rule) const;

  // The result types in flat order; results that inference did not set are absent.
  const std::vector<std::optional<TensorType>>& results() const { return results_; }

 private:
  const Op& op_;
  const TypeEnv& env_;
  std::vector<std::optional<TensorType>> results_;
};

// Checks slots and attributes against the record, then runs the op's inference and refuses results that are larger than the environment
// allows: whoever allocates, indexes or makes tables for a result asks here first. An opaque op has no results set.
absl::StatusOr<std::vector<std::optional<TensorType>>> InferOp(const Op& op, const TypeEnv& env);

}  // namespace ampc
