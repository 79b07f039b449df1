#include "graph/infer_memo.h"

#include <algorithm>
#include <utility>

#include "graph/base/status_macros.h"
#include "graph/infer_context.h"

namespace ampc {
namespace {

bool SameAttrs(const Op& a, const Op& b) {
  const auto same = [](const Attr& x, const Attr& y) { return x.name == y.name && SameAttr(x.value, y.value); };
  return std::equal(a.attrs().begin(), a.attrs().end(), b.attrs().begin(), b.attrs().end(), same);
}

}  // namespace

bool InferMemo::Answered::IsAbout(const Op& other) const {
  if (op == nullptr || !op->HasSameSlots(other)) return false;
  const Value* then = values.data();
  for (const absl::Span<Var* const> vars : {other.inputs(), other.outputs()}) {
    for (const Var* var : vars) {
      if (then->kind != var->kind || then->literal.get() != var->literal.get() || then->type != var->type) return false;
      ++then;
    }
  }
  return SameAttrs(*op, other);
}

void InferMemo::Answered::Take(const Op& other) {
  op = &other;
  values.clear();
  for (const Var* var : other.inputs()) values.push_back({var->kind, var->type, var->literal});
  for (const Var* var : other.outputs()) values.push_back({var->kind, var->type, var->literal});
}

absl::StatusOr<const std::vector<std::optional<TensorType>>*> InferMemo::Infer(const Op& op) {
  static const TypeEnv kDeclared;
  repeated_ = false;
  if (!op.SubBlocks().empty()) {
    AMPC_ASSIGN_OR_RETURN(other_, InferOp(op, kDeclared));
    return &other_;
  }
  Answered& last = last_[&op.def()];
  repeated_ = last.IsAbout(op);
  if (repeated_) return &last.results;
  last.op = nullptr;
  AMPC_ASSIGN_OR_RETURN(last.results, InferOp(op, kDeclared));
  last.Take(op);
  return &last.results;
}

}  // namespace ampc
