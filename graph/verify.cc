#include "graph/verify.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_memo.h"

namespace ampc {
namespace {

// Outer values that a nested block touches: what its control op has to list.
struct Touched {
  std::vector<const Var*> read;
  std::vector<const Var*> written;
};

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), defined_(program.num_var_ids(), false), entered_(program.num_blocks(), false) {}

  absl::Status Run() {
    AMPC_RETURN_IF_ERROR(CheckBlockNames());
    AMPC_RETURN_IF_ERROR(CheckVars());
    Touched touched;
    AMPC_RETURN_IF_ERROR(CheckBlock(program_.main(), &touched));
    AMPC_RETURN_IF_ERROR(CheckSignature());
    for (int b = 1; b < program_.num_blocks(); ++b) {
      if (!entered_[b]) return BadInputError(absl::StrCat("block '", program_.block(b).name(), "' belongs to no op"));
    }
    return absl::OkStatus();
  }

 private:
  // Text refers to blocks by name, and each block to one further up.
  absl::Status CheckBlockNames() const {
    absl::flat_hash_set<absl::string_view> names;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      const Block& block = program_.block(b);
      if (!names.insert(block.name()).second) return BadInputError(absl::StrCat("two blocks are named '", block.name(), "'"));
      if (b > 0 && (block.parent() < 0 || block.parent() >= b)) {
        return BadInputError(absl::StrCat("block '", block.name(), "' has the parent ", block.parent(), ", needs a block in front of it"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckVars() {
    for (int b = 0; b < program_.num_blocks(); ++b) {
      const Block& block = program_.block(b);
      const Block* outer = b == 0 ? nullptr : &program_.block(block.parent());
      for (const std::unique_ptr<Var>& var : block.vars()) {
        // A name that hides one outside would change the meaning of the program's text.
        if (!block.Finds(*var) || (outer != nullptr && outer->FindVisible(var->name()) != nullptr)) {
          return BadInputError(absl::StrCat("block '", block.name(), "': the name '", var->name(), "' is used twice"));
        }
        if (var->kind == VarKind::kConst && var->literal == nullptr && var->weight == nullptr) {
          return BadInputError(absl::StrCat("const '", var->name(), "' has no value"));
        }
        if (var->literal != nullptr) AMPC_RETURN_IF_ERROR(CheckLiteral(*var));
        defined_[var->id()] = var->kind != VarKind::kTemp && var->kind != VarKind::kCarry;
      }
    }
    return absl::OkStatus();
  }

  static absl::Status CheckLiteral(const Var& var) {
    const HostTensor& value = *var.literal;
    const TensorType type(value.dtype(), Dims(value.dims().begin(), value.dims().end()));
    if (Compatible(type, var.type)) return absl::OkStatus();
    return BadInputError(
        absl::StrCat(Name(var.kind), " '", var.name(), "' is declared ", ToString(var.type), ", its value is ", ToString(type)));
  }

  absl::Status CheckSignature() const {
    for (const Var* feed : program_.feeds) {
      if (feed->kind != VarKind::kFeed || &feed->block() != &program_.main()) {
        return BadInputError(
            absl::StrCat("the signature feeds '", feed->name(), "', which is a ", Name(feed->kind), ", not a feed of the main block"));
      }
    }
    for (const Var* fetch : program_.fetches) {
      if (&fetch->block() != &program_.main() || !defined_[fetch->id()]) {
        return BadInputError(absl::StrCat("fetch '", fetch->name(), "': nothing in the main block defines it"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckBlock(const Block& block, Touched* outer) {
    entered_[block.index()] = true;
    for (const std::unique_ptr<Op>& op : block.ops()) {
      AMPC_RETURN_IF_ERROR(CheckOperands(*op, outer));
      for (int index : op->SubBlocks()) AMPC_RETURN_IF_ERROR(CheckSubBlock(*op, index, outer));
      AMPC_RETURN_IF_ERROR(CheckTypes(*op));
      AMPC_RETURN_IF_ERROR(CheckResults(*op, outer));
      if (op->def().verify != nullptr) AMPC_RETURN_IF_ERROR(op->def().verify(*op));
    }
    return absl::OkStatus();
  }

  // The block in which `op` stands sees the variable.
  bool Sees(const Op& op, const Var& var) const {
    for (int b = op.block().index(); b >= 0; b = program_.block(b).parent()) {
      if (&var.block() == &program_.block(b)) return true;
    }
    return false;
  }

  absl::Status CheckOperands(const Op& op, Touched* outer) const {
    for (const Var* var : op.inputs()) {
      if (!Sees(op, *var))
        return BadInputError(absl::StrCat(Describe(op), ": operand '", var->name(), "' belongs to a block that it cannot see"));
      if (!defined_[var->id()])
        return BadInputError(absl::StrCat(Describe(op), ": operand '", var->name(), "' is used before it is defined"));
      const bool captured = &var->block() != &op.block();
      if (captured && (var->kind == VarKind::kTemp || var->kind == VarKind::kFeed || var->kind == VarKind::kCarry)) {
        outer->read.push_back(var);
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckSubBlock(const Op& op, int index, Touched* outer) {
    if (index <= 0 || index >= program_.num_blocks()) {
      return BadInputError(absl::StrCat(Describe(op), ": refers to block ", index, ", the program has ", program_.num_blocks()));
    }
    const Block& block = program_.block(index);
    if (block.parent() != op.block().index() || entered_[index]) {
      return BadInputError(absl::StrCat(Describe(op), ": block '", block.name(), "' is not its own"));
    }
    Touched inner;
    // A carry that the op writes may be read by the body in a later iteration, so it counts as defined inside.
    for (const Var* var : op.outputs()) {
      if (var->kind == VarKind::kCarry) defined_[var->id()] = true;
    }
    AMPC_RETURN_IF_ERROR(CheckBlock(block, &inner));
    AMPC_RETURN_IF_ERROR(CheckListed(op, inner.read, op.inputs(), op.outputs(), "reads"));
    AMPC_RETURN_IF_ERROR(CheckListed(op, inner.written, op.outputs(), {}, "writes"));
    for (const Var* var : inner.read) {
      if (&var->block() != &op.block()) outer->read.push_back(var);
    }
    for (const Var* var : inner.written) {
      if (&var->block() != &op.block()) outer->written.push_back(var);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckListed(const Op& op, const std::vector<const Var*>& touched, absl::Span<Var* const> a, absl::Span<Var* const> b,
                                  absl::string_view verb) {
    if (touched.empty()) return absl::OkStatus();
    std::vector<const Var*> listed(a.begin(), a.end());
    listed.insert(listed.end(), b.begin(), b.end());
    const auto by_id = [](const Var* x, const Var* y) { return x->id() < y->id(); };
    std::sort(listed.begin(), listed.end(), by_id);
    for (const Var* var : touched) {
      if (!std::binary_search(listed.begin(), listed.end(), var, by_id)) {
        return BadInputError(absl::StrCat(Describe(op), ": its block ", verb, " '", var->name(), "', which the op does not list"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckTypes(const Op& op) {
    AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>>* want, inferred_.Infer(op));
    if (inferred_.repeated()) return absl::OkStatus();  // as it was then
    for (size_t i = 0; i < want->size(); ++i) {
      const Var& var = *op.outputs()[i];
      if (!(*want)[i].has_value() || Compatible(var.type, *(*want)[i])) continue;
      return BadInputError(absl::StrCat(Describe(op), ": result '", var.name(), "' is declared ", ToString(var.type), ", inference says ",
                                        ToString(*(*want)[i])));
    }
    return absl::OkStatus();
  }

  absl::Status CheckResults(const Op& op, Touched* outer) {
    for (size_t i = 0; i < op.outputs().size(); ++i) {
      const Var& var = *op.outputs()[i];
      const SlotDef& slot = op.def().outputs[op.OutputSlotOf(static_cast<int>(i))];
      if (!Sees(op, var))
        return BadInputError(absl::StrCat(Describe(op), ": result '", var.name(), "' belongs to a block that it cannot see"));
      switch (var.kind) {
        case VarKind::kFeed:
        case VarKind::kConst: return BadInputError(absl::StrCat(Describe(op), ": writes the ", Name(var.kind), " '", var.name(), "'"));
        case VarKind::kParam:
        case VarKind::kState:
          if (!slot.overwrites) {
            return BadInputError(
                absl::StrCat(Describe(op), ": slot ", slot.name, " may not overwrite the ", Name(var.kind), " '", var.name(), "'"));
          }
          break;
        case VarKind::kCarry:
          if (&var.block() != &op.block()) outer->written.push_back(&var);
          break;
        case VarKind::kTemp:
          if (&var.block() != &op.block())
            return BadInputError(absl::StrCat(Describe(op), ": defines '", var.name(), "' of another block"));
          if (defined_[var.id()]) return BadInputError(absl::StrCat(Describe(op), ": defines '", var.name(), "' a second time"));
          break;
      }
      defined_[var.id()] = true;
    }
    return absl::OkStatus();
  }

  const Program& program_;
  std::vector<bool> defined_;  // by Var::id, at the point reached
  std::vector<bool> entered_;  // by block index
  InferMemo inferred_;
};

}  // namespace

absl::Status Verify(const Program& program) { return Verifier(program).Run(); }

}  // namespace ampc
