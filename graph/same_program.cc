#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/attr_hash.h"
#include "graph/program.h"

namespace ampc {
namespace {

absl::string_view Symbol(const Program& program, int64_t dim) {
  const int64_t index = -2 - dim;
  return index >= 0 && index < static_cast<int64_t>(program.symbols.size()) ? absl::string_view(program.symbols[index]) : "";
}

absl::string_view Window(const WeightRef& ref) {
  const absl::Span<const char> all = ref.source->bytes();
  if (ref.offset > all.size() || ref.bytes > all.size() - ref.offset) return "";
  return absl::string_view(all.data() + ref.offset, ref.bytes);
}

bool InMemory(const WeightRef& ref) { return ref.source->path().empty(); }
const WeightRef* WeightOf(const Var& var) { return var.weight != nullptr && var.weight->source != nullptr ? var.weight.get() : nullptr; }
// Only declarations carry the flag.
bool Trainable(const Var& var) { return var.kind != VarKind::kTemp && var.trainable; }
absl::string_view Reason(const OpMarks& marks) { return marks.amp == AmpMark::kNone ? absl::string_view() : marks.amp_reason; }

std::vector<std::pair<std::string, DType>> Sorted(std::vector<std::pair<std::string, DType>> was) {
  std::sort(was.begin(), was.end());
  return was;
}

bool IsDefault(const Op& op, const Attr& attr) {
  const AttrDef* def = op.def().FindAttr(attr.name);
  return def != nullptr && !def->required && SameAttr(def->value, attr.value);
}

class Comparison {
 public:
  Comparison(const Program& a, const Program& b) : a_(a), b_(b), twin_(a.num_var_ids(), nullptr) {}

  // Empty when the programs are the same, else the first difference.
  std::string Run() {
    if (a_.name != b_.name) return absl::StrCat("program name ", a_.name, ", ", b_.name);
    if (a_.version != b_.version) return absl::StrCat("version ", a_.version, ", ", b_.version);
    if (a_.num_blocks() != b_.num_blocks()) return absl::StrCat(a_.num_blocks(), " blocks, ", b_.num_blocks());
    for (int i = 0; i < a_.num_blocks(); ++i) {
      if (std::string why = Vars(a_.block(i), b_.block(i)); !why.empty()) return why;
    }
    for (int i = 0; i < a_.num_blocks(); ++i) {
      if (std::string why = BlockOps(a_.block(i), b_.block(i)); !why.empty()) return why;
    }
    if (!SameVars(a_.feeds, b_.feeds)) return "the feeds of the signature";
    if (!SameVars(a_.fetches, b_.fetches)) return "the fetches of the signature";
    return "";
  }

 private:
  std::string Vars(const Block& a, const Block& b) {
    if (a.name() != b.name() || a.parent() != b.parent()) return absl::StrCat("block '", a.name(), "', block '", b.name(), "'");
    for (const std::unique_ptr<Var>& var : a.vars()) {
      const Var* other = b.FindVar(var->name());
      if (other == nullptr) return absl::StrCat("'", var->name(), "' is only in the first program");
      if (const char* what = Different(*var, *other)) return absl::StrCat("'", var->name(), "': ", what);
      twin_[var->id()] = other;
    }
    for (const std::unique_ptr<Var>& var : b.vars()) {
      if (a.FindVar(var->name()) == nullptr) return absl::StrCat("'", var->name(), "' is only in the second program");
    }
    return "";
  }

  const char* Different(const Var& a, const Var& b) const {
    if (a.kind != b.kind) return "kind";
    if (!SameType(a.type, b.type)) return "type";
    if (a.stop_gradient != b.stop_gradient) return "stop_gradient";
    if (Trainable(a) != Trainable(b)) return "trainable";
    if (a.export_name != b.export_name) return "export name";
    if (a.was != b.was) return "type before AMP";
    if ((a.literal == nullptr) != (b.literal == nullptr)) return "literal";
    if (a.literal != nullptr && a.literal != b.literal && !(*a.literal == *b.literal)) return "literal";
    if (!SameWeight(WeightOf(a), WeightOf(b))) return "weight";
    return nullptr;
  }

  bool SameType(const TensorType& a, const TensorType& b) const {
    if (a.kind != b.kind) return false;
    if (a.kind == TypeKind::kOpaque) return true;
    if (a.dtype != b.dtype || a.has_rank != b.has_rank || a.rank() != b.rank() || a.lod_level != b.lod_level) return false;
    for (int i = 0; i < a.rank(); ++i) {
      const bool known = IsKnown(a.dims[i]);
      if (known != IsKnown(b.dims[i])) return false;
      if (known ? a.dims[i] != b.dims[i] : Symbol(a_, a.dims[i]) != Symbol(b_, b.dims[i])) return false;
    }
    return true;
  }

  static bool SameWeight(const WeightRef* a, const WeightRef* b) {
    if (a == nullptr || b == nullptr) return a == b;
    if (a->name != b->name || a->bytes != b->bytes || a->dtype != b->dtype || a->transforms != b->transforms) return false;
    if (InMemory(*a) && InMemory(*b)) return Window(*a) == Window(*b);
    return a->source->path() == b->source->path() && a->offset == b->offset;
  }

  bool SameVars(absl::Span<Var* const> a, absl::Span<Var* const> b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [this](const Var* x, const Var* y) { return twin_[x->id()] == y; });
  }

  std::string BlockOps(const Block& a, const Block& b) const {
    const size_t n = std::min(a.ops().size(), b.ops().size());
    for (size_t i = 0; i < n; ++i) {
      if (const std::string what = Different(*a.ops()[i], *b.ops()[i]); !what.empty()) {
        return absl::StrCat("block '", a.name(), "', op ", i, ", ", Describe(*a.ops()[i]), ": ", what);
      }
    }
    if (a.ops().size() == b.ops().size()) return "";
    return absl::StrCat("block '", a.name(), "' has ", a.ops().size(), " ops, ", b.ops().size());
  }

  std::string Different(const Op& a, const Op& b) const {
    if (&a.def() != &b.def() && (!a.def().opaque || !b.def().opaque || a.type() != b.type())) return absl::StrCat("op '", b.type(), "'");
    if (!SameSlots(a.def().inputs, b.def().inputs) || !SameSlots(a.def().outputs, b.def().outputs)) return "slots";
    for (size_t s = 0; s < a.def().inputs.size(); ++s) {
      if (!SameVars(a.inputs(static_cast<int>(s)), b.inputs(static_cast<int>(s))))
        return absl::StrCat("operands of slot ", a.def().inputs[s].name);
    }
    for (size_t s = 0; s < a.def().outputs.size(); ++s) {
      if (!SameVars(a.outputs(static_cast<int>(s)), b.outputs(static_cast<int>(s))))
        return absl::StrCat("results of slot ", a.def().outputs[s].name);
    }
    for (const Op* op : {&a, &b}) {
      for (const Attr& attr : op->attrs()) {
        const AttrValue* x = a.attr(attr.name);
        const AttrValue* y = b.attr(attr.name);
        if (x == nullptr || y == nullptr || !SameAttr(*x, *y)) return absl::StrCat("attribute ", attr.name);
      }
    }
    if (a.marks.guard != b.marks.guard) return "mark guard";
    if (a.marks.amp != b.marks.amp || Reason(a.marks) != Reason(b.marks)) return "mark amp";
    if (Sorted(a.marks.was) != Sorted(b.marks.was)) return "mark was";
    return "";
  }

  static bool SameSlots(const std::vector<SlotDef>& a, const std::vector<SlotDef>& b) {
    return &a == &b ||
           std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const SlotDef& x, const SlotDef& y) { return x.name == y.name; });
  }

  const Program& a_;
  const Program& b_;
  std::vector<const Var*> twin_;  // by Var::id of a_: the variable of b_ with its name
};

void HashType(const TensorType& type, const Program& program, Hash& hash) {
  hash.Word(static_cast<uint64_t>(type.kind));
  if (type.kind == TypeKind::kOpaque) return;
  hash.Word(static_cast<uint64_t>(type.dtype)).Word(type.has_rank).Word(type.dims.size()).Word(static_cast<uint64_t>(type.lod_level));
  for (int64_t dim : type.dims) {
    if (IsKnown(dim)) {
      hash.Word(static_cast<uint64_t>(dim));
    } else {
      hash.Bytes(Symbol(program, dim));
    }
  }
}

void HashValue(const Var& var, Hash& hash) {
  if (var.literal != nullptr) {
    const HostTensor& t = *var.literal;
    hash.Word(static_cast<uint64_t>(t.dtype()));
    for (int64_t dim : t.dims()) hash.Word(static_cast<uint64_t>(dim));
    hash.Bytes(absl::string_view(static_cast<const char*>(t.data()), t.size_bytes()));
  }
  const WeightRef* ref = WeightOf(var);
  if (ref == nullptr) return;
  hash.Bytes(ref->name).Word(ref->bytes).Word(static_cast<uint64_t>(ref->dtype));
  for (const WeightTransform& t : ref->transforms) {
    hash.Word(static_cast<uint64_t>(t.to)).Word(static_cast<uint64_t>(t.on_overflow)).Word(static_cast<uint64_t>(t.on_tiny));
  }
  if (InMemory(*ref)) {
    hash.Bytes(Window(*ref));
  } else {
    hash.Bytes(ref->source->path()).Word(ref->offset);
  }
}

uint64_t VarHash(const Var& var, const Program& program) {
  Hash hash;
  hash.Bytes(var.name()).Word(static_cast<uint64_t>(var.block().index())).Word(static_cast<uint64_t>(var.kind));
  HashType(var.type, program, hash);
  hash.Word(var.stop_gradient).Word(Trainable(var)).Bytes(var.export_name).Word(static_cast<uint64_t>(var.was));
  HashValue(var, hash);
  return hash.value();
}

void HashOp(const Op& op, const std::vector<uint64_t>& vars, Hash& hash) {
  hash.Bytes(op.type()).Word(op.def().opaque);
  for (size_t s = 0; s < op.def().inputs.size(); ++s) {
    const absl::Span<Var* const> in = op.inputs(static_cast<int>(s));
    hash.Word(in.size());
    if (op.def().opaque) hash.Bytes(op.def().inputs[s].name);
    for (const Var* var : in) hash.Word(vars[var->id()]);
  }
  for (size_t s = 0; s < op.def().outputs.size(); ++s) {
    const absl::Span<Var* const> out = op.outputs(static_cast<int>(s));
    hash.Word(out.size());
    if (op.def().opaque) hash.Bytes(op.def().outputs[s].name);
    for (const Var* var : out) hash.Word(vars[var->id()]);
  }
  uint64_t attrs = 0;  // a sum: their order does not count
  for (const Attr& attr : op.attrs()) {
    if (IsDefault(op, attr)) continue;
    Hash one;
    one.Bytes(attr.name).Word(attr.value.index());
    HashAttr(attr.value, one);
    attrs += one.value();
  }
  hash.Word(attrs).Word(static_cast<uint64_t>(op.marks.guard)).Word(static_cast<uint64_t>(op.marks.amp)).Bytes(Reason(op.marks));
  uint64_t was = 0;
  for (const auto& [attr, dtype] : op.marks.was) was += Hash().Bytes(attr).Word(static_cast<uint64_t>(dtype)).value();
  hash.Word(was);
}

}  // namespace

bool SameProgram(const Program& a, const Program& b, std::string* why) {
  std::string difference = Comparison(a, b).Run();
  const bool same = difference.empty();
  if (why != nullptr) *why = std::move(difference);
  return same;
}

uint64_t Fingerprint(const Program& program) {
  Hash hash;
  hash.Bytes(program.name).Word(static_cast<uint64_t>(program.version));
  std::vector<uint64_t> vars(program.num_var_ids(), 0);
  for (int b = 0; b < program.num_blocks(); ++b) {
    const Block& block = program.block(b);
    uint64_t sum = 0;  // the order of variables does not count
    for (const std::unique_ptr<Var>& var : block.vars()) sum += vars[var->id()] = VarHash(*var, program);
    hash.Bytes(block.name()).Word(static_cast<uint64_t>(block.parent())).Word(block.vars().size()).Word(sum);
  }
  for (int b = 0; b < program.num_blocks(); ++b) {
    hash.Word(program.block(b).ops().size());
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) HashOp(*op, vars, hash);
  }
  for (const Var* var : program.feeds) hash.Word(vars[var->id()]);
  hash.Word(program.feeds.size());
  for (const Var* var : program.fetches) hash.Word(vars[var->id()]);
  return hash.value();
}

}  // namespace ampc
