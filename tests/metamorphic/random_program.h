// RandomProgram: a valid program of a few dozen ops, as text: values with several readers, weights that several ops share, branches, loops,
// state that is written between two reads, normalisations, exponentials and constants at the ends of the range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ampc::metamorphic {

struct RandomProgram {
  std::string text;
  std::vector<std::string> types;  // of its ops, those that may become low
};

// The same seed makes the same program, on every machine.
RandomProgram MakeRandomProgram(uint64_t seed);

}  // namespace ampc::metamorphic
