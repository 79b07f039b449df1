#include "graph/formats/paddle/export.h"

#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/types.h"

namespace ampc::paddle {
namespace {

// The version that is written for a program without a Paddle origin: the one whose format this is.
constexpr int64_t kPaddleVersion = 2006000;

enum WireType { kVarint = 0, kLengthDelimited = 2 };

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendInt(int number, int64_t value, std::string* out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | kVarint, out);
  AppendVarint(static_cast<uint64_t>(value), out);  // a negative int32 is ten bytes, as protobuf writes it
}

OpDesc MakeSignatureOp(absl::string_view type, absl::string_view in, absl::string_view out, int col) {
  OpDesc op;
  op.set_type(std::string(type));
  OpDesc_Var* x = op.add_inputs();
  x->set_parameter("X");
  x->add_arguments(std::string(in));
  OpDesc_Var* result = op.add_outputs();
  result->set_parameter("Out");
  result->add_arguments(std::string(out));
  OpDesc_Attr* attr = op.add_attrs();
  attr->set_name("col");
  attr->set_type(0);
  attr->set_i(col);
  return op;
}

// The variable that feed or fetch ops name, unless the file has it.
void AppendHolder(absl::string_view name, int32_t type, const PaddleOrigin* origin, std::string* out) {
  for (size_t v = 0; origin != nullptr && v < origin->layout.blocks[0].vars.size(); ++v) {
    if (StringField(origin->VarBytes(0, static_cast<int>(v)), 1) == name) return;
  }
  VarDesc var;
  var.set_name(std::string(name));
  var.mutable_type()->set_type(type);
  var.set_persistable(true);
  AppendField(3, var, out);
}

// The ops of the main block with the feed and fetch ops at their places.
class MainOps {
 public:
  MainOps(const Program& program, const ExportNames& names, const PaddleOrigin* origin)
      : program_(program), names_(names), origin_(origin), writer_(names, origin) {
    kept_ = origin != nullptr && origin->num_feeds == program.feeds.size() && origin->fetch_ops.size() == program.fetches.size();
    made_ = !kept_ && !(program.feeds.empty() && program.fetches.empty());
    if (!kept_) return;
    for (size_t i = 0; i < origin->feed_ops.size(); ++i) at_[origin->feed_ops[i]] = program.feeds[i];
    for (size_t i = 0; i < origin->fetch_ops.size(); ++i) at_[origin->fetch_ops[i]] = program.fetches[i];
    next_ = at_.begin();
  }

  // New holders are needed for the signature ops.
  bool made() const { return made_; }

  absl::Status Write(std::string* out) {
    if (made_) {
      // Paddle puts each feed op in front of the others.
      for (size_t i = program_.feeds.size(); i-- > 0;) {
        AppendField(4, MakeSignatureOp("feed", "feed", names_.Of(*program_.feeds[i]), static_cast<int>(i)), out);
      }
    }
    const auto& ops = program_.main().ops();
    std::vector<int> following(ops.size() + 1, std::numeric_limits<int>::max());  // the next position that the file had
    for (size_t i = ops.size(); i-- > 0;) following[i] = Position(*ops[i]) >= 0 ? Position(*ops[i]) : following[i + 1];
    for (size_t i = 0; i < ops.size(); ++i) {
      // Feeds come before the new ops that may read them, fetches after the new ops that may define what they take.
      WriteSignature(following[i], Position(*ops[i]) < 0, out);
      AMPC_RETURN_IF_ERROR(writer_.Write(*ops[i], out));
    }
    WriteSignature(std::numeric_limits<int>::max(), false, out);
    if (!made_) return absl::OkStatus();
    for (size_t i = 0; i < program_.fetches.size(); ++i) {
      AppendField(4, MakeSignatureOp("fetch", names_.Of(*program_.fetches[i]), "fetch", static_cast<int>(i)), out);
    }
    return absl::OkStatus();
  }

 private:
  int Position(const Op& op) const { return op.origin < 0 || origin_ == nullptr ? -1 : origin_->ops[op.origin].op; }

  void WriteSignature(int before, bool feeds_only, std::string* out) {
    if (!kept_) return;
    for (; next_ != at_.end() && next_->first < before; ++next_) {
      const absl::string_view bytes = origin_->OpBytes(0, next_->first);
      OpDesc desc;
      (void)ParseSubmessage(bytes, &desc);
      const bool feed = desc.type() == "feed";
      if (feeds_only && !feed) return;
      auto& slots = feed ? *desc.mutable_outputs() : *desc.mutable_inputs();
      int slot = 0;
      while (slots[slot].parameter() != (feed ? "Out" : "X")) ++slot;  // the importer found it
      const std::string& name = names_.Of(*next_->second);
      if (slots[slot].arguments(0) == name) {
        AppendBytesField(4, bytes, out);
        continue;
      }
      slots[slot].set_arguments(0, name);
      AppendField(4, desc, out);
    }
  }

  const Program& program_;
  const ExportNames& names_;
  const PaddleOrigin* origin_;
  OpWriter writer_;
  bool kept_ = false;
  bool made_ = false;
  std::map<int, const Var*> at_;  // by position in the file
  std::map<int, const Var*>::const_iterator next_;
};

absl::Status WriteBlock(const Program& program, int index, const ExportNames& names, const PaddleOrigin* origin, std::string* out) {
  const Block& block = program.block(index);
  AppendInt(1, index, out);
  AppendInt(2, block.parent(), out);
  WriteVars(block, names, origin, out);
  if (index == 0) {
    MainOps main(program, names, origin);
    if (main.made()) {
      AppendHolder("feed", kFeedMinibatch, origin, out);
      AppendHolder("fetch", kFetchList, origin, out);
    }
    AMPC_RETURN_IF_ERROR(main.Write(out));
  } else {
    OpWriter writer(names, origin);
    for (const std::unique_ptr<Op>& op : block.ops()) AMPC_RETURN_IF_ERROR(writer.Write(*op, out));
  }
  const bool had = origin != nullptr && index < static_cast<int>(origin->layout.blocks.size());
  if (had) absl::StrAppend(out, origin->layout.blocks[index].other);
  return absl::OkStatus();
}

}  // namespace

void AppendBytesField(int number, absl::string_view bytes, std::string* out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | kLengthDelimited, out);
  AppendVarint(bytes.size(), out);
  absl::StrAppend(out, bytes);
}

void AppendField(int number, const google::protobuf::MessageLite& message, std::string* out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | kLengthDelimited, out);
  AppendVarint(message.ByteSizeLong(), out);
  message.AppendPartialToString(out);
}

absl::StatusOr<std::string> ExportProgram(const Program& program, const ExportNames& names) {
  const PaddleOrigin* origin = OriginOf(program);
  std::string out;
  for (int b = 0; b < program.num_blocks(); ++b) {
    std::string block;
    AMPC_RETURN_IF_ERROR(WriteBlock(program, b, names, origin, &block));
    AppendBytesField(1, block, &out);
  }
  if (origin == nullptr) {
    Version version;
    version.set_version(kPaddleVersion);
    AppendField(4, version, &out);
  } else {
    absl::StrAppend(&out, origin->layout.other);
  }
  if (out.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return UnsupportedError(absl::StrCat("a Paddle program of ", out.size(), " bytes; at most 2 GiB are possible"));
  }
  return out;
}

}  // namespace ampc::paddle
