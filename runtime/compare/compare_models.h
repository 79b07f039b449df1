// Two models on the same inputs: every value of the one against the value of that name of the other, and a verdict about the outputs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"
#include "runtime/compare/difference.h"
#include "runtime/compare/verdict.h"
#include "runtime/feeds.h"
#include "runtime/session.h"

namespace ampc {

// A model that takes part. Loaded so that each result is rounded to its type, which is how a device computes.
class ComparedModel {
 public:
  // As Session::Load; `name` is what messages call it.
  static absl::StatusOr<ComparedModel> Load(const std::string& path, const SessionOptions& options);
  static absl::StatusOr<ComparedModel> Create(std::string name, Program program, const SessionOptions& options);

  const Session& session() const { return session_; }
  const std::string& name() const { return name_; }
  // The operation that makes a value, as the model's file names it ("Conv"); "" for one that the file has not.
  std::string OpOf(const std::string& value) const;
  bool Decides(const std::string& output) const { return decisions_.contains(output); }  // decisions.h
  DType lowest() const { return lowest_; }                                               // the narrowest type that it computes in

 private:
  ComparedModel(std::string name, Session session) : name_(std::move(name)), session_(std::move(session)) {}

  std::string name_;
  Session session_;
  std::map<std::string, std::string> ops_;  // by value
  std::set<std::string> decisions_;
  DType lowest_ = DType::kF32;
  int threads_ = 1;
  friend struct Comparison;
};

struct ComparedValue {
  std::string name;  // "h", "h #2" for what a loop makes the second time
  std::string op;    // as the first model's file has it, or else the second's
  DType dtype_a = DType::kInvalid, dtype_b = DType::kInvalid;
  bool same_dims = true;
  bool fetch = false;
  Difference difference;
  OutputVerdict verdict;  // of a fetch
  bool diverges = false;  // a fetch that fails; of other values what is no number in one only, has other dims, or is beyond `of_largest`
};

// The value at which the difference grew most, over all that came before it.
struct Loss {
  std::string name, op;
  double before = 0, after = 0;  // max rel
};

struct ComparedRun {
  std::string source;  // of its feeds
  bool passed = false;
  std::string reason;
};

struct ModelComparison {
  std::vector<ComparedValue> values;  // as they are computed, then the outputs in the second model's order
  DType lowest = DType::kF32;         // the narrowest type that either model computes in
  std::optional<Loss> lost_most;
  std::optional<size_t> first_divergence;  // in `values`
  bool passed = false;
  std::string reason;  // one sentence
  // Several runs, or none: all above but `reason` is of the first that fails, or else of the one whose outputs differ most.
  std::vector<ComparedRun> runs;
  size_t worst = 0;  // in `runs`
};

struct CompareOptions {
  bool outputs_only = false;                                    // runs both models as they run otherwise, and compares outputs only
  std::optional<double> of_largest = {}, rtol = {}, atol = {};  // see JudgeOptions
  // Called before each of the two runs; false stops the comparison: absl::StatusCode::kCancelled.
  std::function<bool(const std::string& stage)> on_stage = {};
};

// `feeds_b` are those of `feeds_a` in the types of b. A usage error where b has an output that a does not have.
absl::StatusOr<ModelComparison> CompareModels(const ComparedModel& a, const TensorMap& feeds_a, const ComparedModel& b,
                                              const TensorMap& feeds_b, const CompareOptions& options);
// On one or more runs, as many of a as of b.
absl::StatusOr<ModelComparison> CompareRuns(const ComparedModel& a, const std::vector<FeedsOfARun>& runs_a, const ComparedModel& b,
                                            const std::vector<FeedsOfARun>& runs_b, const CompareOptions& options);

}  // namespace ampc
