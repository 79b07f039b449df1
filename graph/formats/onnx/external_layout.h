// Internal to the ONNX exporter: the file with external data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/var.h"

namespace ampc::onnx {

// The extents of weights in the file with external data, by ascending offsets.
struct ExternalLayout {
  struct Extent {
    const Var* var = nullptr;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool says_offset = true, says_length = true;  // in the model
  };
  std::string location;  // relative to the model
  std::vector<Extent> extents;
  uint64_t size = 0;           // of the file, where it does not end with its last extent
  std::vector<int> extent_of;  // by Var::id; -1 for none; empty without any
};

}  // namespace ampc::onnx
