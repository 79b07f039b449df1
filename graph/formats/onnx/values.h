// The value of a TensorProto: where its bytes lie.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/formats/onnx/messages.h"
#include "graph/type.h"
#include "graph/weight.h"

namespace ampc::onnx {

// Constants of at most that many elements are literals, so that passes and inference see their values.
inline constexpr int64_t kMaxLiteral = 1024;

// The files with external data of one model, opened once each.
class ExternalFiles {
 public:
  // `model`: the path of the model's file, whose folder the data must be in; `opens`: or else they are not looked for.
  ExternalFiles(const std::string& model, bool opens);
  // BadInput for a path that is absolute or leaves the folder (also through a symbolic link), and for an absent file.
  absl::StatusOr<std::shared_ptr<const WeightSource>> Open(absl::string_view location);
  bool opens() const { return opens_; }
  void Record(absl::string_view location) const;  // to FilesRead; Open does

 private:
  std::string folder_;
  bool opens_;
  std::map<std::string, std::shared_ptr<const WeightSource>, std::less<>> open_;
};

struct StoredValue {
  TensorType type;  // opaque for an element type that ampc does not have
  WeightRef ref;    // into the model's file, an external one, or a buffer of typed data that was decoded; source is null for a
                    // value of an external file that is not to be looked for, and for an opaque type
  bool external = false;
  bool says_offset = true, says_length = true;  // where it is external: the model names them
};

// `file` is the source in which the tensor's message lies, `files` is null where there can be no external ones. BadInput, with
// `where` in front, for values that do not fill the shape; Unsupported for a segment.
absl::StatusOr<StoredValue> ReadValue(const TensorView& tensor, const std::shared_ptr<const WeightSource>& file, ExternalFiles* files,
                                      absl::string_view where);

// The lists of a Constant node's value_float(s) and value_int(s).
StoredValue ValueOfFloats(absl::Span<const float> values, bool scalar);
StoredValue ValueOfInts(absl::Span<const int64_t> values, bool scalar);

}  // namespace ampc::onnx
