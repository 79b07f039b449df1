#include "graph/program.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace ampc {

absl::string_view Name(VarKind kind) {
  switch (kind) {
    case VarKind::kFeed: return "feed";
    case VarKind::kParam: return "param";
    case VarKind::kState: return "state";
    case VarKind::kConst: return "const";
    case VarKind::kTemp: return "temp";
    case VarKind::kCarry: return "carry";
  }
  return "?";
}

Var* Block::FindVar(absl::string_view name) const {
  const auto it = program_->names_.find(name);
  if (it == program_->names_.end()) return nullptr;
  Var* var = it->second.var;
  if (var != nullptr && &var->block() == this) return var;
  if (hidden_.empty()) return nullptr;
  const auto hidden = hidden_.find(name);
  return hidden == hidden_.end() ? nullptr : hidden->second;
}

Var* Block::FindVisible(absl::string_view name) const {
  for (const Block* block = this; block != nullptr;) {
    if (Var* var = block->FindVar(name)) return var;
    block = block->parent_ < 0 ? nullptr : &block->program_->block(block->parent_);
  }
  return nullptr;
}

Var* Block::AddVar(std::string name, VarKind kind, TensorType type) {
  NameEntry& entry = *program_->names_.try_emplace(std::move(name)).first;
  vars_.push_back(std::make_unique<Var>(this, program_->next_var_id_++, &entry, kind, std::move(type)));
  Enter(vars_.back().get());
  return vars_.back().get();
}

bool Block::Finds(const Var& var) const { return &var.block() == this && (var.name_->second.var == &var || FindVar(var.name()) == &var); }

void Block::Enter(Var* var) {
  if (Var*& holder = var->name_->second.var; holder == nullptr) {
    holder = var;
  } else {
    hidden_[var->name()] = var;
  }
}

void Block::Leave(const Var* var) {
  if (Var*& holder = var->name_->second.var; holder == var) {
    holder = nullptr;
  } else {
    hidden_.erase(var->name());
  }
}

std::string Block::UniqueName(absl::string_view base) const {
  auto it = program_->names_.find(base);
  if (it == program_->names_.end()) return std::string(base);
  // The stored suffix makes a long run of requests for one base linear.
  for (int& next = it->second.next;; ++next) {
    std::string name = absl::StrCat(base, ".", next);
    if (!program_->names_.contains(name)) return name;
  }
}

void Block::RenameVar(Var* var, std::string name) {
  Leave(var);
  var->name_ = &*program_->names_.try_emplace(std::move(name)).first;
  Enter(var);
}

std::unique_ptr<Op> Block::NewOp(const OpDef* def) const {
  return std::make_unique<Op>(const_cast<Block*>(this), program_->next_op_id_++, def);
}

Op* Block::Append(std::unique_ptr<Op> op) {
  ops_.push_back(std::move(op));
  return ops_.back().get();
}

std::vector<std::unique_ptr<Op>> Block::TakeOps() { return std::exchange(ops_, {}); }

void Block::SetOps(std::vector<std::unique_ptr<Op>> ops) { ops_ = std::move(ops); }

void Block::RemoveVars(const std::vector<bool>& dead) {
  if (std::find(dead.begin(), dead.end(), true) == dead.end()) return;
  const auto is_dead = [&dead](const std::unique_ptr<Var>& v) { return v->id() < static_cast<int>(dead.size()) && dead[v->id()]; };
  for (const std::unique_ptr<Var>& v : vars_) {
    if (is_dead(v)) Leave(v.get());
  }
  std::erase_if(vars_, is_dead);
}

Program::Program(std::string program_name) : name(std::move(program_name)) { AddBlock(-1, "main"); }

Program::Program(Program&& other) noexcept : Program(std::string()) { *this = std::move(other); }

Program& Program::operator=(Program&& other) noexcept {
  name = std::move(other.name);
  version = other.version;
  feeds = std::move(other.feeds);
  fetches = std::move(other.fetches);
  symbols = std::move(other.symbols);
  origin = std::move(other.origin);
  next_var_id_ = other.next_var_id_;
  next_op_id_ = other.next_op_id_;
  std::swap(blocks_, other.blocks_);
  std::swap(names_, other.names_);
  opaque_ = std::move(other.opaque_);
  for (const std::unique_ptr<Block>& block : blocks_) block->program_ = this;
  for (const std::unique_ptr<Block>& block : other.blocks_) block->program_ = &other;
  return *this;
}

Program::~Program() = default;

Block& Program::AddBlock(int parent, std::string block_name) {
  blocks_.push_back(std::make_unique<Block>(this, num_blocks(), parent, std::move(block_name)));
  return *blocks_.back();
}

int64_t Program::SymbolDim(absl::string_view symbol) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] == symbol) return -2 - static_cast<int64_t>(i);
  }
  symbols.emplace_back(symbol);
  return -1 - static_cast<int64_t>(symbols.size());
}

const OpDef* Program::OpaqueDef(absl::string_view type, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  std::string key = absl::StrCat(type, "(", absl::StrJoin(inputs, ","), ")->", absl::StrJoin(outputs, ","));
  std::unique_ptr<OpDef>& def = opaque_[key];
  if (def != nullptr) return def.get();
  def = std::make_unique<OpDef>(std::string(type));
  def->operator_name = std::string(absl::StripPrefix(type, "onnx."));
  def->Doc("An op without a record: carried through, not executed.")
      .Amp(AmpClass::kNever, "no record describes this op")
      .Gradient("none: no record describes this op")
      .Impure();
  def->opaque = true;
  if (type == "rank") def->Traits({OpTrait::kShapeReader});
  for (const std::string& slot : inputs) def->OptVarIn(slot, SlotPrecision::kAsIs);
  for (const std::string& slot : outputs) {
    def->VarOut(slot, SlotPrecision::kAsIs);
    def->outputs.back().optional = true;
    def->outputs.back().overwrites = true;
  }
  return def.get();
}

bool Program::NameTaken(absl::string_view var_name) const { return names_.contains(var_name); }

namespace {

void CopyVar(const Var& from, Block& block, std::vector<Var*>& by_id) {
  Var* var = block.AddVar(from.name(), from.kind, from.type);
  var->stop_gradient = from.stop_gradient;
  var->trainable = from.trainable;
  var->export_name = from.export_name;
  var->was = from.was;
  if (from.weight != nullptr) var->weight = std::make_unique<WeightRef>(*from.weight);
  var->literal = from.literal;
  var->origin = from.origin;
  by_id[from.id()] = var;
}

std::vector<Var*> Mapped(absl::Span<Var* const> vars, const std::vector<Var*>& by_id) {
  std::vector<Var*> out;
  out.reserve(vars.size());
  for (const Var* v : vars) out.push_back(v == nullptr ? nullptr : by_id[v->id()]);
  return out;
}

// The block's number in the copy; -1 for one that is left out, and for a reference to no block.
int Renumbered(int index, const std::vector<int>& to) { return index < 0 || index >= static_cast<int>(to.size()) ? index : to[index]; }

AttrValue Renumbered(AttrValue value, const std::vector<int>& to) {
  if (BlockRef* one = std::get_if<BlockRef>(&value)) one->index = Renumbered(one->index, to);
  if (auto* list = std::get_if<std::vector<BlockRef>>(&value)) {
    for (BlockRef& ref : *list) ref.index = Renumbered(ref.index, to);
  }
  return value;
}

const OpDef* DefIn(Program& program, const OpDef& def) {
  if (!def.opaque) return &def;
  std::vector<std::string> ins, outs;
  for (const SlotDef& s : def.inputs) ins.push_back(s.name);
  for (const SlotDef& s : def.outputs) outs.push_back(s.name);
  return program.OpaqueDef(def.name, ins, outs);
}

void CopyOp(const Op& op, Block& block, const std::vector<Var*>& by_id, const std::vector<int>& block_to) {
  const OpDef* def = DefIn(block.program(), op.def());
  std::unique_ptr<Op> to = block.NewOp(def);
  for (size_t s = 0; s < def->inputs.size(); ++s) to->SetInputs(static_cast<int>(s), Mapped(op.inputs(static_cast<int>(s)), by_id));
  for (size_t s = 0; s < def->outputs.size(); ++s) to->SetOutputs(static_cast<int>(s), Mapped(op.outputs(static_cast<int>(s)), by_id));
  for (const Attr& a : op.attrs()) to->SetAttr(a.name, Renumbered(a.value, block_to));
  to->marks = op.marks;
  to->line = op.line;
  to->origin = op.origin;
  to->lowered_from = op.lowered_from;
  block.Append(std::move(to));
}

// All but the blocks for which `leave_out` is true.
Program Copy(const Program& from, const std::vector<bool>& leave_out) {
  Program copy(from.name);
  copy.ReserveNames(from.num_var_ids());
  copy.version = from.version;
  copy.symbols = from.symbols;
  copy.origin = from.origin;
  std::vector<Var*> by_id(from.num_var_ids(), nullptr);
  std::vector<int> block_to(from.num_blocks(), -1);
  for (int b = 0; b < from.num_blocks(); ++b) {
    if (leave_out[b]) continue;
    const Block& block = from.block(b);
    Block& to = b == 0 ? copy.main() : copy.AddBlock(Renumbered(block.parent(), block_to), block.name());
    block_to[b] = to.index();
    for (const std::unique_ptr<Var>& var : block.vars()) CopyVar(*var, to, by_id);
  }
  for (int b = 0; b < from.num_blocks(); ++b) {
    if (leave_out[b]) continue;
    for (const std::unique_ptr<Op>& op : from.block(b).ops()) CopyOp(*op, copy.block(block_to[b]), by_id, block_to);
  }
  copy.feeds = Mapped(from.feeds, by_id);
  copy.fetches = Mapped(from.fetches, by_id);
  return copy;
}

}  // namespace

Program Program::Clone() const { return Copy(*this, std::vector<bool>(num_blocks(), false)); }

// Declared in graph/without_blocks.h.
Program WithoutBlocks(const Program& program, const std::vector<bool>& dead) { return Copy(program, dead); }

}  // namespace ampc
