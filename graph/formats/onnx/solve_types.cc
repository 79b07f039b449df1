// Results of opaque nodes are seldom declared: shape inference stops at operators that it does not know. Their readers say their element
// types all the same: operands and results of one type variable have one type.
#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "graph/formats/onnx/importer.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {
namespace {

constexpr int kMostSweeps = 16;  // each goes once over the program, forth or back

// Calls `f(formal, var)` for operands, then results.
template <typename F>
void ForEachFormal(const Op& op, const Schema& schema, const F& f) {
  for (size_t i = 0; i < schema.inputs.size(); ++i) {
    for (Var* var : op.inputs(static_cast<int>(i))) f(schema.inputs[i], *var);
  }
  for (size_t i = 0; i < schema.outputs.size(); ++i) {
    for (Var* var : op.outputs(static_cast<int>(i))) f(schema.outputs[i], *var);
  }
}

// Whether a type was found.
bool Unify(const Op& op) {
  const OnnxDef* def = DefOf(op.def());
  if (def == nullptr) return false;
  const Schema& schema = *def->schema;
  absl::InlinedVector<DType, 8> bound(schema.types.size(), DType::kInvalid);
  bool found = false;
  ForEachFormal(op, schema, [&bound](const Formal& formal, const Var& var) {
    if (formal.type >= 0 && !formal.heterogeneous && var.type.kind == TypeKind::kTensor && var.type.dtype != DType::kInvalid)
      bound[formal.type] = var.type.dtype;
  });
  ForEachFormal(op, schema, [&](const Formal& formal, Var& var) {
    if (formal.type < 0 || formal.heterogeneous || !var.type.LacksDType() || bound[formal.type] == DType::kInvalid) return;
    var.type.dtype = bound[formal.type];
    found = true;
  });
  return found;
}

}  // namespace

bool Importer::LacksTypes(const Op& op) {
  const auto lacks = [](const Var* var) { return var->type.LacksDType(); };
  return std::any_of(op.inputs().begin(), op.inputs().end(), lacks) || std::any_of(op.outputs().begin(), op.outputs().end(), lacks);
}

void Importer::SolveTypes() {
  if (!lacks_types_) return;
  std::vector<Op*> ops;  // that have such a value
  for (int b = 0; b < program_.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program_.block(b).ops()) {
      if (LacksTypes(*op)) ops.push_back(op.get());
    }
  }
  bool found = !ops.empty();
  for (int sweep = 0; found && sweep < kMostSweeps; ++sweep) {
    found = sweep == 0;
    std::reverse(ops.begin(), ops.end());
    for (const Op* op : ops) {
      found = Unify(*op) || found;
      if (sweep % 2 == 1) (void)CompleteTypes(*op, &inferred_);
    }
  }
  for (Op* op : ops) {
    const bool cast = op->type() == "cast" && op->explicit_attr("in_dtype") == nullptr && !op->inputs()[0]->type.LacksDType();
    if (cast) op->SetAttr("in_dtype", op->inputs()[0]->type.dtype);
  }
}

}  // namespace ampc::onnx
