// ONNX's type descriptions.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"

namespace ampc::onnx {

// The symbols of a program by name; Program::SymbolDim looks through all of them.
class Symbols {
 public:
  explicit Symbols(Program* program) : program_(program) {}
  int64_t Dim(absl::string_view symbol);

 private:
  Program* program_;
  absl::flat_hash_map<std::string, int64_t> dims_;
};

// The type that a TypeProto describes: a sequence of tensors is an array, an optional value what it holds, and what ampc does not have
// (strings, maps, ...) is opaque. False for malformed bytes.
bool ImportType(absl::string_view bytes, Symbols* symbols, TensorType* type);

// The TypeProto `bytes` of a tensor with another element type and, if `dims`, another shape; other fields stay.
std::string PatchedType(absl::string_view bytes, const TensorType& type, bool dims, const Program& program);
// A ValueInfoProto made from nothing. An opaque type is left out.
std::string MakeValueInfo(absl::string_view name, const TensorType& type, const Program& program);

}  // namespace ampc::onnx
