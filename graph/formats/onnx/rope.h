// A message to be written, as chunks: parts of the file it was read from, text, and weights that are made while they are written. Unchanged
// neighbours are one chunk, so an unchanged file is one in all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/formats/weight_stream.h"
#include "graph/program.h"

namespace ampc::onnx {

class Rope {
 public:
  // `bytes` belong to the file and are referred to.
  void Keep(absl::string_view bytes);
  // Copied.
  void Text(absl::string_view bytes);
  // The value of `var` (AppendWeight), which has `bytes` bytes.
  void Weight(const Var* var, uint64_t bytes);
  // All of `other`; as the content of a field with a number.
  void Append(const Rope& other);
  void Field(int number, const Rope& content);

  uint64_t size() const { return size_; }
  // Exactly these bytes of the file and nothing else.
  bool Are(absl::string_view bytes) const;

  // Gives everything to `sink` in order; `file` is the source of what was kept, or null.
  absl::Status Write(const WeightSource* file, const SaveOptions& options, SaveProgress* progress, const ByteSink& sink) const;

 private:
  struct Chunk {
    const char* kept = nullptr;  // null: text or weight
    const Var* weight = nullptr;
    uint64_t offset = 0;  // of text
    uint64_t size = 0;
  };
  std::vector<Chunk> chunks_;
  std::string text_;
  uint64_t size_ = 0;
};

}  // namespace ampc::onnx
