// The protobuf wire format, read in place: no message is built, and every length is checked against what encloses it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace ampc::onnx {

enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field of a message. The views refer into the message.
struct WireField {
  int number = 0;
  WireType type = kVarint;
  absl::string_view all;    // with its tag and length
  absl::string_view bytes;  // the content: of kBytes without its length, of a fixed type its 4 or 8 bytes, of a varint its bytes
  uint64_t value = 0;       // of a varint

  bool Is(int n, WireType t) const { return number == n && type == t; }
  int64_t Int() const { return static_cast<int64_t>(value); }
};

// Walks over the fields of one message:
//   WireReader reader(message);
//   for (WireField field; reader.Next(&field);) ...
//   if (!reader.ok()) the message is malformed
class WireReader {
 public:
  explicit WireReader(absl::string_view message) : left_(message) {}

  // False at the end and at a malformed field (a cut one, a group, number 0).
  bool Next(WireField* field);
  bool ok() const { return ok_; }

 private:
  absl::string_view left_;
  bool ok_ = true;
};

// Takes a varint off the front of `text`; false when it is cut or longer than 10 bytes.
bool TakeLongVarint(absl::string_view* text, uint64_t* value);
inline bool TakeVarint(absl::string_view* text, uint64_t* value) {
  if (text->empty() || static_cast<uint8_t>(text->front()) >= 0x80) return TakeLongVarint(text, value);
  *value = static_cast<uint8_t>(text->front());  // as most are
  text->remove_prefix(1);
  return true;
}

inline bool WireReader::Next(WireField* field) {
  if (left_.empty() || !ok_) return false;
  const absl::string_view begin = left_;
  uint64_t tag = 0;
  ok_ = false;
  if (!TakeVarint(&left_, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return false;
  field->number = static_cast<int>(tag >> 3);
  field->type = static_cast<WireType>(tag & 7);
  field->value = 0;
  uint64_t size = 0;
  switch (tag & 7) {
    case kVarint: {
      const absl::string_view content = left_;
      if (!TakeVarint(&left_, &field->value)) return false;
      field->bytes = content.substr(0, content.size() - left_.size());
      break;
    }
    case kFixed64: size = 8; break;
    case kFixed32: size = 4; break;
    case kBytes:
      if (!TakeVarint(&left_, &size)) return false;
      break;
    default: return false;
  }
  if ((tag & 7) != kVarint) {
    if (size > left_.size()) return false;
    field->bytes = left_.substr(0, size);
    left_.remove_prefix(size);
  }
  field->all = begin.substr(0, begin.size() - left_.size());
  ok_ = true;
  return true;
}

// Appending.
void AppendVarint(uint64_t value, std::string* out);
void AppendVarintField(int number, uint64_t value, std::string* out);
void AppendBytesField(int number, absl::string_view bytes, std::string* out);
// The tag and length of a field whose content follows.
std::string BytesFieldHead(int number, uint64_t size);

}  // namespace ampc::onnx
