// ProfileModel: how long the ops of a model take on this machine's CPU, in float32 and in the low type that it computes in. The times go
// into a file that `convert`, `explain` and `tune` take (passes/amp/decide/op_times.h).
//
//   absl::StatusOr<ampc::ProfileResult> r = ampc::ProfileModel({.model = "model.onnx", .file = "times.json"});
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"

namespace ampc {

struct ProfileOptions {
  std::string model = {}, params = {};
  std::vector<std::string> inputs = {};  // the feeds of one run, as ReadFeeds takes them; none: made (runtime/made_feeds.h)
  uint64_t seed = 0;
  std::map<std::string, std::vector<int64_t>> dims = {};        // of made feeds
  double seconds = 1;                                           // of runs in each type, at least
  std::string file = {};                                        // times are added to it; "": CachedTimes (runtime/convert/times.h)
  std::function<bool(const std::string& stage)> progress = {};  // false: absl::StatusCode::kCancelled
};

struct ProfiledOp {
  std::string type, value;    // as `explain` names it
  double fp32 = 0;            // seconds, measured
  double predicted_fp32 = 0;  // from its work
  std::optional<double> low = {}, predicted_low = {};
};

// A whole run on one thread, in seconds of that thread.
struct ProfiledRun {
  double measured = 0;   // the best
  double predicted = 0;  // from the work of its ops and casts
};

struct ProfileResult {
  std::string device;           // of graph/device_numbers.h
  DType low = DType::kInvalid;  // invalid: the CPU computes in none
  std::string feeds;            // "x [1, 3, 224, 224]"
  int runs = 0;                 // in each type
  ProfiledRun fp32, mixed;      // the model as it is, and with all low that may be
  std::vector<ProfiledOp> ops;  // those that take time, the longest first
  std::string file;
  size_t known = 0;  // ops in the file
  std::vector<std::string> notes;
};

// The file is complete or as it was. Errors: of reading the model and running it; a usage error for a model that was converted before;
// a bad file that times are to be added to.
absl::StatusOr<ProfileResult> ProfileModel(const ProfileOptions& options);

// `ampc profile --json`.
std::string ProfileJson(const ProfileOptions& options, const ProfileResult& result);

}  // namespace ampc
