// Hash: 64 bits of what a program says; HashAttr: of an attribute's value.
#pragma once

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "graph/attr.h"

namespace ampc {

// Mixes what it is given into 64 bits; the same on every run and machine of one byte order.
class Hash {
 public:
  Hash& Word(uint64_t word) {
    const auto product = static_cast<unsigned __int128>(state_ ^ word) * 0x9e3779b97f4a7c15u;
    state_ = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ 0xd6e8feb86659fd93u;
    return *this;
  }
  Hash& Bytes(absl::string_view bytes) {
    Word(bytes.size());
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
      uint64_t word;
      std::memcpy(&word, bytes.data(), 8);
      Word(word);
    }
    uint64_t rest = 0;
    if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
    return bytes.empty() ? *this : Word(rest);
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0x243f6a8885a308d3u;
};

// Of values of one type (AttrValue::index) alike where SameAttr holds.
void HashAttr(const AttrValue& value, Hash& hash);

}  // namespace ampc
