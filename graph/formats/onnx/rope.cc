#include "graph/formats/onnx/rope.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/formats/onnx/wire.h"

namespace ampc::onnx {
namespace {

constexpr uint64_t kWindow = uint64_t{1} << 20;

}  // namespace

void Rope::Keep(absl::string_view bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  if (!chunks_.empty() && chunks_.back().kept != nullptr && chunks_.back().kept + chunks_.back().size == bytes.data()) {
    chunks_.back().size += bytes.size();
    return;
  }
  Chunk& chunk = chunks_.emplace_back();
  chunk.kept = bytes.data();
  chunk.size = bytes.size();
}

void Rope::Text(absl::string_view bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  const bool joins = !chunks_.empty() && chunks_.back().kept == nullptr && chunks_.back().weight == nullptr;
  if (!joins) chunks_.emplace_back().offset = text_.size();
  chunks_.back().size += bytes.size();
  absl::StrAppend(&text_, bytes);
}

void Rope::Weight(const Var* var, uint64_t bytes) {
  size_ += bytes;
  Chunk& chunk = chunks_.emplace_back();
  chunk.weight = var;
  chunk.size = bytes;
}

void Rope::Append(const Rope& other) {
  for (const Chunk& chunk : other.chunks_) {
    if (chunk.weight != nullptr) {
      Weight(chunk.weight, chunk.size);
    } else if (chunk.kept != nullptr) {
      Keep({chunk.kept, chunk.size});
    } else {
      Text(absl::string_view(other.text_).substr(chunk.offset, chunk.size));
    }
  }
}

void Rope::Field(int number, const Rope& content) {
  Text(BytesFieldHead(number, content.size()));
  Append(content);
}

bool Rope::Are(absl::string_view bytes) const {
  if (bytes.empty()) return chunks_.empty();
  return chunks_.size() == 1 && chunks_[0].kept == bytes.data() && chunks_[0].size == bytes.size();
}

absl::Status Rope::Write(const WeightSource* file, const SaveOptions& options, SaveProgress* progress, const ByteSink& sink) const {
  for (const Chunk& chunk : chunks_) {
    if (chunk.weight != nullptr) {
      AMPC_RETURN_IF_ERROR(AppendWeight(*chunk.weight, options, progress, sink));
      continue;
    }
    const char* begin = chunk.kept != nullptr ? chunk.kept : text_.data() + chunk.offset;
    for (uint64_t done = 0; done < chunk.size; done += kWindow) {
      const uint64_t count = std::min(kWindow, chunk.size - done);
      AMPC_RETURN_IF_ERROR(sink(absl::string_view(begin + done, count)));
      if (chunk.kept != nullptr && file != nullptr) file->Release(static_cast<uint64_t>(begin + done - file->bytes().data()), count);
      AMPC_RETURN_IF_ERROR(progress->Add(count));
    }
  }
  return absl::OkStatus();
}

}  // namespace ampc::onnx
