// Choices: where a generator's decisions come from: a seed, or the bytes that a fuzzer gives.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>

#include "absl/strings/string_view.h"

namespace ampc::extreme {

class Choices {
 public:
  // The same seed makes the same decisions; there is no end.
  explicit Choices(uint64_t seed) : random_(seed), endless_(true) {}
  // One or two bytes a decision; behind the last byte every decision is 0.
  explicit Choices(absl::string_view bytes) : endless_(false), bytes_(bytes) {}

  // In [0, n), n in [1, 65536].
  size_t Below(size_t n) {
    if (endless_) return random_() % n;
    size_t value = 0;
    for (size_t range = 1; range < n; range *= 256) value = value * 256 + Next();
    return value % n;
  }
  bool Chance(int percent) { return Below(100) >= static_cast<size_t>(100 - percent); }
  template <typename List>
  const auto& Pick(const List& list) {
    return list[Below(std::size(list))];
  }

 private:
  size_t Next() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_[0]);
    bytes_.remove_prefix(1);
    return byte;
  }

  std::mt19937_64 random_;
  bool endless_;
  absl::string_view bytes_;
};

}  // namespace ampc::extreme
