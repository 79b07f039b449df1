// FNV-1a: a short fingerprint that is the same on every machine and in every build. Collisions are easily made on purpose.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace ampc {

// The hash of `bytes`; given the hash of what stands before them, that of both.
constexpr uint64_t Fnv1a(absl::string_view bytes, uint64_t before = 0xcbf29ce484222325u) {
  for (const char c : bytes) before = (before ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return before;
}

}  // namespace ampc
