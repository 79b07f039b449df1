#include "graph/formats/onnx/wire.h"

#include "absl/strings/str_cat.h"

namespace ampc::onnx {

bool TakeLongVarint(absl::string_view* text, uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < text->size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>((*text)[i]);
    *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    text->remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool WireReader::Next(WireField* field) {
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

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendVarintField(int number, uint64_t value, std::string* out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | kVarint, out);
  AppendVarint(value, out);
}

void AppendBytesField(int number, absl::string_view bytes, std::string* out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | kBytes, out);
  AppendVarint(bytes.size(), out);
  absl::StrAppend(out, bytes);
}

std::string BytesFieldHead(int number, uint64_t size) {
  std::string head;
  AppendVarint(static_cast<uint64_t>(number) << 3 | kBytes, &head);
  AppendVarint(size, &head);
  return head;
}

}  // namespace ampc::onnx
