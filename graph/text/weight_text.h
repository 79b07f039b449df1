// Weight references and literals of declarations as text.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/text/cursor.h"
#include "graph/text/parser.h"
#include "graph/text/value.h"
#include "graph/weight.h"

namespace ampc::text {

// Opens each weight file once per parse.
class WeightReader {
 public:
  explicit WeightReader(const ParseOptions& options) : options_(options), fill_left_(options.max_fill_bytes) {}

  // The text after `=` in the declaration of `var`: sets its literal (a const without a data type in front or transforms
  // behind) or its weight.
  absl::Status ParseValue(Cursor& cursor, Var& var);

 private:
  absl::StatusOr<WeightRef> ParseFileRef(Cursor& cursor);
  absl::StatusOr<std::string> Elements(Cursor& cursor, DType dtype, const TensorType& type);

  const ParseOptions& options_;
  int64_t fill_left_;
  std::map<std::string, std::shared_ptr<const WeightSource>> sources_;
};

// Appends ` = ...` for a variable with `weight` or a literal, nothing for one without.
void AppendValue(const Var& var, const WeightRef* weight, bool brief, absl::string_view directory, std::string* out);

}  // namespace ampc::text
