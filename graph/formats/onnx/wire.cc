#include "graph/formats/onnx/wire.h"

#include "absl/strings/str_cat.h"

namespace ampc::onnx {

bool TakeLongVarint(const char** at, const char* end, uint64_t* value) {
  *value = 0;
  for (int i = 0; i < 10 && i < end - *at; ++i) {
    const auto byte = static_cast<uint8_t>((*at)[i]);
    *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    *at += i + 1;
    return true;
  }
  return false;
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
