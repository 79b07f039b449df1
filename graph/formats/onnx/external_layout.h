// Internal to the ONNX exporter: the file with external data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/var.h"

namespace ampc::onnx {

// Where weights lie in the file with external data. Ascending offsets.
struct ExternalLayout {
  struct Region {
    const Var* var = nullptr;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool says_offset = true, says_length = true;  // in the model
  };
  std::string location;  // relative to the model
  std::vector<Region> regions;
  uint64_t size = 0;           // of the file, where it does not end with its last region
  std::vector<int> region_of;  // by Var::id; -1 for none; empty without any
};

}  // namespace ampc::onnx
