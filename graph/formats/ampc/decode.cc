#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/ampc/encode.h"
#include "graph/op_registry.h"

namespace ampc {
namespace {

// Versions of the ops that this reader knows: all 0 so far.
constexpr uint32_t kOpVersion = 0;

class ProgramDecoder {
 public:
  ProgramDecoder(const proto::Program& message, absl::string_view where) : message_(message), where_(where) {}

  absl::StatusOr<DecodedProgram> Run() {
    AMPC_RETURN_IF_ERROR(CheckVersions());
    program_.name = message_.name();
    program_.version = message_.version();
    program_.symbols.assign(message_.symbols().begin(), message_.symbols().end());
    AMPC_RETURN_IF_ERROR(DecodeBlocks());
    for (const proto::OpaqueOp& op : message_.opaque_ops()) {
      opaque_.push_back(
          program_.OpaqueDef(op.type(), {op.inputs().begin(), op.inputs().end()}, {op.outputs().begin(), op.outputs().end()}));
    }
    int next = 0;
    for (int b = 0; b < message_.blocks_size(); ++b) {
      for (const proto::Op& op : message_.blocks(b).ops()) AMPC_RETURN_IF_ERROR(DecodeOp(program_.block(b), op, next++));
    }
    AMPC_RETURN_IF_ERROR(DecodeVars(message_.feeds(), &program_.feeds));
    AMPC_RETURN_IF_ERROR(DecodeVars(message_.fetches(), &program_.fetches));
    return DecodedProgram{std::move(program_), std::move(keys_)};
  }

 private:
  absl::Status Error(absl::string_view what) const { return BadInputError(absl::StrCat(where_, ": ", what)); }

  absl::Status CheckVersions() const {
    if (message_.min_reader_version() > kFormatVersion) {
      return UnsupportedError(absl::StrCat(where_, ": needs a reader of format version ", message_.min_reader_version(),
                                           ", this one reads up to ", kFormatVersion));
    }
    if (message_.format_version() == 0) return Error("no format version, not an ampc program");
    for (const auto& [op, version] : message_.op_versions()) {
      if (version > kOpVersion)
        return UnsupportedError(absl::StrCat(where_, ": op '", op, "' has version ", version, ", this reader knows ", kOpVersion));
    }
    return absl::OkStatus();
  }

  absl::Status DecodeBlocks() {
    if (message_.blocks().empty()) return Error("a program without blocks");
    for (int b = 0; b < message_.blocks_size(); ++b) {
      const proto::Block& from = message_.blocks(b);
      if (b == 0 ? from.parent() != -1 : (from.parent() < 0 || from.parent() >= b)) {
        return Error(absl::StrCat("block ", b, " has parent ", from.parent(), ", needs an earlier block"));
      }
      Block& block = b == 0 ? program_.main() : program_.AddBlock(from.parent(), from.name());
      for (const proto::Var& var : from.vars()) AMPC_RETURN_IF_ERROR(DecodeVar(block, var));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<TensorType> DecodeType(const proto::Type& from, absl::string_view name) const {
    TensorType type;
    type.kind = static_cast<TypeKind>(from.kind());
    type.dtype = static_cast<DType>(from.dtype());
    type.has_rank = !from.unranked() && type.kind != TypeKind::kOpaque;
    type.lod_level = from.lod_level();
    for (const int64_t dim : from.dims()) {
      if (!type.has_rank || dim < -1 - message_.symbols_size()) return Error(absl::StrCat("variable '", name, "' has dimension ", dim));
      type.dims.push_back(dim);
    }
    return type;
  }

  absl::Status DecodeVar(Block& block, const proto::Var& from) {
    if (block.FindVar(from.name()) != nullptr) return Error(absl::StrCat("block '", block.name(), "' declares '", from.name(), "' twice"));
    AMPC_ASSIGN_OR_RETURN(TensorType type, DecodeType(from.type(), from.name()));
    Var* var = block.AddVar(from.name(), static_cast<VarKind>(from.kind()), std::move(type));
    var->stop_gradient = from.stop_gradient();
    var->trainable = from.trainable();
    var->export_name = from.export_name();
    var->was = static_cast<DType>(from.was());
    var->origin = static_cast<int>(vars_.size());
    if (from.has_literal()) AMPC_RETURN_IF_ERROR(DecodeLiteral(from.literal(), var));
    vars_.push_back(var);
    keys_.push_back(from.weight());
    return absl::OkStatus();
  }

  absl::Status DecodeLiteral(const proto::Literal& from, Var* var) const {
    const std::vector<int64_t> dims(from.dims().begin(), from.dims().end());
    const auto dtype = static_cast<DType>(from.dtype());
    uint64_t bytes = SizeOf(dtype);
    for (const int64_t dim : dims) {
      if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) bytes = ~uint64_t{0};
    }
    // Before memory is asked for: the shape must be as large as the data.
    if (SizeOf(dtype) == 0 || bytes != from.data().size()) {
      return Error(absl::StrCat("const '", var->name(), "' has ", from.data().size(), " bytes, which its type and shape do not need"));
    }
    AMPC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::CreateUninitialized(dtype, dims));
    if (!from.data().empty()) std::memcpy(tensor.mutable_data(), from.data().data(), from.data().size());
    var->literal = std::make_shared<const HostTensor>(std::move(tensor));
    return absl::OkStatus();
  }

  template <typename Numbers, typename Vars>
  absl::Status DecodeVars(const Numbers& numbers, Vars* out) const {
    for (const uint32_t number : numbers) {
      if (number >= vars_.size()) return Error(absl::StrCat("variable number ", number, ", the program has ", vars_.size()));
      out->push_back(vars_[number]);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<const OpDef*> FindDef(const proto::Op& from) const {
    if (from.opaque() > 0) {
      if (from.opaque() <= opaque_.size()) return opaque_[from.opaque() - 1];
      return Error(absl::StrCat("opaque op number ", from.opaque(), " of ", opaque_.size()));
    }
    if (const OpDef* def = Ops().Find(from.type())) return def;
    return UnsupportedError(absl::StrCat(where_, ": op '", from.type(), "' is not known to this version"));
  }

  absl::Status DecodeOp(Block& block, const proto::Op& from, int number) {
    AMPC_ASSIGN_OR_RETURN(const OpDef* def, FindDef(from));
    std::unique_ptr<Op> op = block.NewOp(def);
    const auto slots = [&](const auto& list, bool inputs) -> absl::Status {
      for (const proto::Slot& slot : list) {
        const int index = inputs ? def->InputSlot(slot.name()) : def->OutputSlot(slot.name());
        if (index < 0) return Error(absl::StrCat("op '", def->name, "' has no slot '", slot.name(), "'"));
        std::vector<Var*> vars;
        AMPC_RETURN_IF_ERROR(DecodeVars(slot.vars(), &vars));
        if (inputs) {
          op->SetInputs(index, vars);
        } else {
          op->SetOutputs(index, vars);
        }
      }
      return absl::OkStatus();
    };
    AMPC_RETURN_IF_ERROR(slots(from.inputs(), true));
    AMPC_RETURN_IF_ERROR(slots(from.outputs(), false));
    for (const proto::Attr& attr : from.attrs()) {
      AttrValue value;
      if (!DecodeAttr(attr, &value)) return Error(absl::StrCat("op '", def->name, "': attribute ", attr.name(), " has no value"));
      op->SetAttr(attr.name(), std::move(value));
    }
    for (const int child : op->SubBlocks()) {
      if (child < 0 || child >= program_.num_blocks())
        return Error(absl::StrCat("op '", def->name, "' refers to block ", child, " of ", program_.num_blocks()));
    }
    op->marks.guard = from.guard();
    op->marks.amp = static_cast<AmpMark>(from.amp());
    op->marks.amp_reason = from.amp_reason();
    for (const proto::AttrWas& was : from.was()) op->marks.was.emplace_back(was.name(), static_cast<DType>(was.dtype()));
    op->origin = number;
    block.Append(std::move(op));
    return absl::OkStatus();
  }

  const proto::Program& message_;
  absl::string_view where_;
  Program program_;
  std::vector<Var*> vars_;  // by number, which is also Var::id
  std::vector<std::string> keys_;
  std::vector<const OpDef*> opaque_;
};

}  // namespace

absl::StatusOr<DecodedProgram> DecodeProgram(const proto::Program& message, absl::string_view where) {
  return ProgramDecoder(message, where).Run();
}

}  // namespace ampc
