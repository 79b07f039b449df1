// InferMemo: type inference over many ops, most of which ask what one in front of them has asked.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "graph/op.h"

namespace ampc {

// Inference is a function of an op's record, its attributes, and the kinds, types and literals of its operands and results (of an op with
// blocks, of what is in them, too). For each record the last question and its answer are kept, so a chain of equal layers is inferred once.
class InferMemo {
 public:
  // What InferOp(op, TypeEnv()) gives; valid until the next call. Ops that were asked about must live as long as the memo and keep their
  // attributes.
  absl::StatusOr<const std::vector<std::optional<TensorType>>*> Infer(const Op& op);
  // The last call asked, and was answered, what an earlier one had been: about results declared with the same types, too.
  bool repeated() const { return repeated_; }

 private:
  struct Value {
    VarKind kind;
    TensorType type;
    std::shared_ptr<const HostTensor> literal;
  };
  struct Answered {
    const Op* op = nullptr;
    absl::InlinedVector<Value, 4> values;  // operands, then results, as they were then
    std::vector<std::optional<TensorType>> results;

    bool IsAbout(const Op& other) const;
    void Take(const Op& other);
  };
  absl::flat_hash_map<const OpDef*, Answered> last_;
  std::vector<std::optional<TensorType>> other_;  // of an op that is not kept
  bool repeated_ = false;
};

}  // namespace ampc
