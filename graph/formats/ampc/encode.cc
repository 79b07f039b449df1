#include "graph/formats/ampc/encode.h"

#include <map>

namespace ampc {
namespace {

// The enumerators of both sides have the same numbers.
static_assert(kNumDTypes == proto::DType_ARRAYSIZE && static_cast<int>(DType::kC128) == proto::DTYPE_C128 &&
              static_cast<int>(DType::kF4E2M1) == proto::DTYPE_F4E2M1 && static_cast<int>(DType::kF16) == proto::DTYPE_F16);
static_assert(static_cast<int>(VarKind::kCarry) == proto::Var::CARRY && static_cast<int>(VarKind::kConst) == proto::Var::CONST);
static_assert(static_cast<int>(TypeKind::kOpaque) == proto::Type::OPAQUE);
static_assert(static_cast<int>(AmpMark::kFp32) == proto::Op::FP32);

class ProgramEncoder {
 public:
  ProgramEncoder(const Program& program, const std::vector<std::string>& keys)
      : program_(program), keys_(keys), number_(program.num_var_ids(), 0) {
    if (program.origin != nullptr && program.origin->format() == "ampc") CollectOrigin();
  }

  proto::Program Run() {
    proto::Program out;
    out.set_format_version(kFormatVersion);
    out.set_min_reader_version(1);
    out.set_name(program_.name);
    out.set_version(program_.version);
    for (const std::string& symbol : program_.symbols) out.add_symbols(symbol);
    uint32_t next = 0;
    ForEachVar(program_, [&](const Var& var) { number_[var.id()] = next++; });
    for (int b = 0; b < program_.num_blocks(); ++b) EncodeBlock(program_.block(b), &out);
    for (const Var* var : program_.feeds) out.add_feeds(number_[var->id()]);
    for (const Var* var : program_.fetches) out.add_fetches(number_[var->id()]);
    if (origin_ != nullptr) *out.mutable_unknown_fields() = origin_->message.unknown_fields();
    return out;
  }

 private:
  void CollectOrigin() {
    origin_ = static_cast<const AmpcOrigin*>(program_.origin.get());
    for (const proto::Block& block : origin_->message.blocks()) {
      for (const proto::Var& var : block.vars()) origin_vars_.push_back(&var);
      for (const proto::Op& op : block.ops()) origin_ops_.push_back(&op);
    }
  }

  void EncodeBlock(const Block& block, proto::Program* out) {
    proto::Block* to = out->add_blocks();
    to->set_name(block.name());
    to->set_parent(block.parent());
    for (const std::unique_ptr<Var>& var : block.vars()) EncodeVar(*var, to->add_vars());
    for (const std::unique_ptr<Op>& op : block.ops()) EncodeOp(*op, to->add_ops(), out);
  }

  static void EncodeType(const TensorType& type, proto::Type* to) {
    if (type.kind != TypeKind::kTensor) to->set_kind(static_cast<proto::Type::Kind>(type.kind));
    if (type.dtype != DType::kInvalid) to->set_dtype(static_cast<proto::DType>(type.dtype));
    if (!type.has_rank) to->set_unranked(true);
    for (const int64_t dim : type.dims) to->add_dims(dim);
    if (type.lod_level != 0) to->set_lod_level(type.lod_level);
  }

  void EncodeVar(const Var& var, proto::Var* to) const {
    to->set_name(var.name());
    to->set_kind(static_cast<proto::Var::Kind>(var.kind));
    EncodeType(var.type, to->mutable_type());
    if (var.stop_gradient) to->set_stop_gradient(true);
    if (var.trainable) to->set_trainable(true);
    if (!var.export_name.empty()) to->set_export_name(var.export_name);
    if (var.was != DType::kInvalid) to->set_was(static_cast<proto::DType>(var.was));
    if (!keys_[var.id()].empty()) to->set_weight(keys_[var.id()]);
    if (var.literal != nullptr) {
      proto::Literal* literal = to->mutable_literal();
      literal->set_dtype(static_cast<proto::DType>(var.literal->dtype()));
      for (const int64_t dim : var.literal->dims()) literal->add_dims(dim);
      literal->set_data(var.literal->data(), var.literal->size_bytes());
    }
    if (origin_ != nullptr && var.origin >= 0) *to->mutable_unknown_fields() = origin_vars_[var.origin]->unknown_fields();
  }

  uint32_t OpaqueIndex(const OpDef& def, proto::Program* out) {
    const auto [it, fresh] = opaque_.try_emplace(&def, static_cast<uint32_t>(opaque_.size()) + 1);
    if (fresh) {
      proto::OpaqueOp* to = out->add_opaque_ops();
      to->set_type(def.name);
      for (const SlotDef& slot : def.inputs) to->add_inputs(slot.name);
      for (const SlotDef& slot : def.outputs) to->add_outputs(slot.name);
    }
    return it->second;
  }

  void EncodeSlot(const SlotDef& def, absl::Span<Var* const> vars, google::protobuf::RepeatedPtrField<proto::Slot>* slots) const {
    if (vars.empty()) return;
    proto::Slot* slot = slots->Add();
    slot->set_name(def.name);
    for (const Var* var : vars) slot->add_vars(number_[var->id()]);
  }

  void EncodeOp(const Op& op, proto::Op* to, proto::Program* out) {
    const OpDef& def = op.def();
    if (def.opaque) {
      to->set_opaque(OpaqueIndex(def, out));
    } else {
      to->set_type(def.name);
    }
    for (size_t s = 0; s < def.inputs.size(); ++s) EncodeSlot(def.inputs[s], op.inputs(static_cast<int>(s)), to->mutable_inputs());
    for (size_t s = 0; s < def.outputs.size(); ++s) EncodeSlot(def.outputs[s], op.outputs(static_cast<int>(s)), to->mutable_outputs());
    for (const Attr& attr : op.attrs()) {
      proto::Attr* a = to->add_attrs();
      a->set_name(attr.name);
      EncodeAttr(attr.value, a);
    }
    if (op.marks.guard != 0) to->set_guard(op.marks.guard);
    if (op.marks.amp != AmpMark::kNone) to->set_amp(static_cast<proto::Op::Amp>(op.marks.amp));
    if (!op.marks.amp_reason.empty()) to->set_amp_reason(op.marks.amp_reason);
    for (const auto& [name, dtype] : op.marks.was) {
      proto::AttrWas* was = to->add_was();
      was->set_name(name);
      was->set_dtype(static_cast<proto::DType>(dtype));
    }
    if (origin_ != nullptr && op.origin >= 0) *to->mutable_unknown_fields() = origin_ops_[op.origin]->unknown_fields();
  }

  const Program& program_;
  const std::vector<std::string>& keys_;
  std::vector<uint32_t> number_;             // by Var::id
  std::map<const OpDef*, uint32_t> opaque_;  // looked up only, so its order does not matter
  const AmpcOrigin* origin_ = nullptr;
  std::vector<const proto::Var*> origin_vars_;
  std::vector<const proto::Op*> origin_ops_;
};

}  // namespace

proto::Program EncodeProgram(const Program& program, const std::vector<std::string>& keys) { return ProgramEncoder(program, keys).Run(); }

}  // namespace ampc
