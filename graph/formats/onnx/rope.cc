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
  if (!pieces_.empty() && pieces_.back().kept != nullptr && pieces_.back().kept + pieces_.back().size == bytes.data()) {
    pieces_.back().size += bytes.size();
    return;
  }
  Piece& piece = pieces_.emplace_back();
  piece.kept = bytes.data();
  piece.size = bytes.size();
}

void Rope::Text(absl::string_view bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  const bool joins = !pieces_.empty() && pieces_.back().kept == nullptr && pieces_.back().weight == nullptr;
  if (!joins) pieces_.emplace_back().offset = text_.size();
  pieces_.back().size += bytes.size();
  absl::StrAppend(&text_, bytes);
}

void Rope::Weight(const Var* var, uint64_t bytes) {
  size_ += bytes;
  Piece& piece = pieces_.emplace_back();
  piece.weight = var;
  piece.size = bytes;
}

void Rope::Append(const Rope& other) {
  for (const Piece& piece : other.pieces_) {
    if (piece.weight != nullptr) {
      Weight(piece.weight, piece.size);
    } else if (piece.kept != nullptr) {
      Keep({piece.kept, piece.size});
    } else {
      Text(absl::string_view(other.text_).substr(piece.offset, piece.size));
    }
  }
}

void Rope::Field(int number, const Rope& content) {
  Text(BytesFieldHead(number, content.size()));
  Append(content);
}

bool Rope::Are(absl::string_view bytes) const {
  if (bytes.empty()) return pieces_.empty();
  return pieces_.size() == 1 && pieces_[0].kept == bytes.data() && pieces_[0].size == bytes.size();
}

absl::Status Rope::Write(const WeightSource* file, const SaveOptions& options, SaveProgress* progress, const ByteSink& sink) const {
  for (const Piece& piece : pieces_) {
    if (piece.weight != nullptr) {
      AMPC_RETURN_IF_ERROR(AppendWeight(*piece.weight, options, progress, sink));
      continue;
    }
    const char* begin = piece.kept != nullptr ? piece.kept : text_.data() + piece.offset;
    for (uint64_t done = 0; done < piece.size; done += kWindow) {
      const uint64_t count = std::min(kWindow, piece.size - done);
      AMPC_RETURN_IF_ERROR(sink(absl::string_view(begin + done, count)));
      if (piece.kept != nullptr && file != nullptr) file->Release(static_cast<uint64_t>(begin + done - file->bytes().data()), count);
      AMPC_RETURN_IF_ERROR(progress->Add(count));
    }
  }
  return absl::OkStatus();
}

}  // namespace ampc::onnx
