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
  explicit WireReader(absl::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  // False at the end and at a malformed field (a cut one, a group, number 0).
  bool Next(WireField* field);
  bool ok() const { return ok_; }

 private:
  const char* at_;
  const char* end_;
  bool ok_ = true;
};

// Takes a varint off the front of what lies between `*at` and `end`; false when it is cut or longer than 10 bytes.
bool TakeLongVarint(const char** at, const char* end, uint64_t* value);
inline bool TakeVarint(const char** at, const char* end, uint64_t* value) {
  if (*at == end || static_cast<uint8_t>(**at) >= 0x80) return TakeLongVarint(at, end, value);
  *value = static_cast<uint8_t>(*(*at)++);  // as most are
  return true;
}

inline bool WireReader::Next(WireField* field) {
  if (at_ == end_ || !ok_) return false;
  const char* const begin = at_;
  uint64_t tag = 0, size = 0;
  ok_ = false;
  if (!TakeVarint(&at_, end_, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return false;
  field->number = static_cast<int>(tag >> 3);
  field->type = static_cast<WireType>(tag & 7);
  field->value = 0;
  const char* content = at_;
  switch (tag & 7) {
    case kVarint:
      if (!TakeVarint(&at_, end_, &field->value)) return false;
      break;
    case kBytes:
      if (!TakeVarint(&at_, end_, &size)) return false;
      content = at_;
      break;
    case kFixed64: size = 8; break;
    case kFixed32: size = 4; break;
    default: return false;
  }
  if (size > static_cast<uint64_t>(end_ - at_)) return false;
  at_ += size;
  field->bytes = absl::string_view(content, at_ - content);
  field->all = absl::string_view(begin, at_ - begin);
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
