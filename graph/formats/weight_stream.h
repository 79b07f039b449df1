// Writing weights: transformed and written window by window, so that memory does not grow with the model.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/formats/format.h"
#include "graph/program.h"

namespace ampc {

// Bytes of the variable's value as it will be stored, from its weight or literal. BadInput (exit 3) when it has none, or
// when the value does not fill the variable's shape, which must be static.
absl::StatusOr<uint64_t> StoredBytes(const Var& var);

// Counts bytes over all files of one save and calls options.progress.
class SaveProgress {
 public:
  SaveProgress(const SaveOptions& options, uint64_t total) : options_(options), total_(static_cast<double>(total)) {}
  absl::Status Add(uint64_t bytes);  // cancelled where the callback says so

 private:
  const SaveOptions& options_;
  double total_;
  double done_ = 0;
};

// Takes bytes, piece by piece.
using ByteSink = std::function<absl::Status(absl::string_view bytes)>;

// Gives the value of `var` to `sink` and reports to `progress` and options.on_weight. Checked by StoredBytes before.
absl::Status AppendWeight(const Var& var, const SaveOptions& options, SaveProgress* progress, const ByteSink& sink);

}  // namespace ampc
