#include "graph/formats/paddle/layout.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc::paddle {
namespace {

using ::google::protobuf::internal::WireFormatLite;
using ::google::protobuf::io::CodedInputStream;

constexpr uint32_t Tag(int number, WireFormatLite::WireType type) { return static_cast<uint32_t>(number) << 3 | type; }
constexpr auto kVarint = WireFormatLite::WIRETYPE_VARINT;
constexpr auto kBytes = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;

// Walks over the fields of one message.
class FieldReader {
 public:
  explicit FieldReader(absl::string_view message)
      : message_(message), in_(reinterpret_cast<const uint8_t*>(message.data()), static_cast<int>(message.size())) {}

  // The next field's tag, 0 at the end or at a malformed one.
  uint32_t Next() {
    begin_ = in_.CurrentPosition();
    return in_.ReadTag();
  }
  bool AtEnd() const { return begin_ == static_cast<int>(message_.size()); }
  bool ReadInt(int* value) {
    uint64_t raw = 0;
    if (!in_.ReadVarint64(&raw)) return false;
    *value = static_cast<int>(static_cast<int64_t>(raw));
    return true;
  }
  // A length-delimited field: its place in the message.
  bool ReadSubmessage(Submessage* part) {
    uint32_t size = 0;
    if (!in_.ReadVarint32(&size)) return false;
    part->offset = static_cast<uint32_t>(in_.CurrentPosition());
    part->size = size;
    return size <= message_.size() - part->offset && in_.Skip(static_cast<int>(size));
  }
  bool Skip(uint32_t tag) { return WireFormatLite::SkipField(&in_, tag); }
  // Any other field: appended with its tag.
  bool Keep(uint32_t tag, std::string* out) {
    if (!Skip(tag)) return false;
    absl::StrAppend(out, message_.substr(begin_, in_.CurrentPosition() - begin_));
    return true;
  }

 private:
  absl::string_view message_;
  CodedInputStream in_;
  int begin_ = 0;
};

// `base` is the offset of the block's content in the program.
bool ScanBlock(absl::string_view bytes, uint32_t base, BlockLayout* block) {
  bool has_idx = false, has_parent = false;
  FieldReader reader(bytes);
  const auto add = [&](std::vector<Submessage>* list) {
    Submessage part;
    if (!reader.ReadSubmessage(&part)) return false;
    part.offset += base;
    list->push_back(part);
    return true;
  };
  while (const uint32_t tag = reader.Next()) {
    bool ok = true;
    switch (tag) {
      case Tag(1, kVarint): ok = has_idx = reader.ReadInt(&block->idx); break;
      case Tag(2, kVarint): ok = has_parent = reader.ReadInt(&block->parent); break;
      case Tag(3, kBytes): ok = add(&block->vars); break;
      case Tag(4, kBytes): ok = add(&block->ops); break;
      default: ok = reader.Keep(tag, &block->other);
    }
    if (!ok) return false;
  }
  return reader.AtEnd() && has_idx && has_parent;
}

// Field 5 of a block, from the kept fields.
int ForwardBlock(absl::string_view other) {
  FieldReader reader(other);
  int forward = -1;
  while (const uint32_t tag = reader.Next()) {
    if (tag == Tag(5, kVarint) ? !reader.ReadInt(&forward) : !reader.Skip(tag)) break;
  }
  return forward;
}

}  // namespace

absl::StatusOr<ProgramLayout> ScanProgram(absl::string_view bytes, absl::string_view where) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return UnsupportedError(absl::StrCat(where, ": a program of ", bytes.size(), " bytes, at most 2 GiB are possible"));
  }
  const auto damaged = [&] { return BadInputError(absl::StrCat(where, ": not a Paddle program, or damaged (", bytes.size(), " bytes)")); };
  ProgramLayout program;
  FieldReader reader(bytes);
  while (const uint32_t tag = reader.Next()) {
    if (tag != Tag(1, kBytes)) {
      if (!reader.Keep(tag, &program.other)) return damaged();
      continue;
    }
    Submessage part;
    BlockLayout block;
    if (!reader.ReadSubmessage(&part) || !ScanBlock(bytes.substr(part.offset, part.size), part.offset, &block)) return damaged();
    block.forward = ForwardBlock(block.other);
    program.blocks.push_back(std::move(block));
  }
  if (!reader.AtEnd() || program.blocks.empty()) return damaged();
  return program;
}

absl::string_view StringField(absl::string_view message, int number) {
  FieldReader reader(message);
  absl::string_view found;
  while (const uint32_t tag = reader.Next()) {
    if (tag != Tag(number, kBytes)) {
      if (!reader.Skip(tag)) break;
      continue;
    }
    Submessage part;
    if (!reader.ReadSubmessage(&part)) break;
    found = message.substr(part.offset, part.size);
  }
  return found;
}

}  // namespace ampc::paddle
