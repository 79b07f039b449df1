// OpTimes: how long ops took on a device, as `ampc profile` measured it; TimeModel takes that for what it would work out.
//
//   {"ampc-profile": 1, "device": "avx512_bf16", "ops": [
//     {"op": "conv2d", "key": "9d0c...", "fp32": 1.2e-05, "bf16": 7e-06},
//
// Seconds of one thread. An op is found again by what it is, what stands around it (structure_keys.h) and how many elements it reads and
// makes, whatever the model and the names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"
#include "graph/program.h"
#include "passes/analysis/time_model.h"

namespace ampc {

struct OpTime {
  std::string type;
  double fp32 = 0;                            // 0: it became a part of another op
  std::optional<double> f16 = {}, bf16 = {};  // none: not measured
  friend bool operator==(const OpTime&, const OpTime&) = default;
};

struct OpTimes {
  std::string device;              // of graph/device_numbers.h
  std::map<uint64_t, OpTime> ops;  // by key
  friend bool operator==(const OpTimes&, const OpTimes&) = default;

  // Ops that have the same key in both are those of `newer`.
  void Add(const OpTimes& newer);
};

// By Op::id; 0 for casts that AMP inserted.
std::vector<uint64_t> SizedKeys(const Program& program, const ProgramSizes& sizes);
// From now on these times count for the ops that they know. Returns how many those are.
int UseTimes(const OpTimes& times, const Program& program, DType low, ProgramSizes* sizes);

std::string OpTimesJson(const OpTimes& times);
// BadInput says what is wrong.
absl::StatusOr<OpTimes> ParseOpTimes(absl::string_view text);
// The same for a file, whose name an error has.
absl::StatusOr<OpTimes> ReadOpTimes(const std::string& path);

}  // namespace ampc
