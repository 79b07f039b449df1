// Plan: the decisions of a conversion as a file that people read, edit and compare: one line for each op.
//
//   {"ampc-plan": 1, "config": {...}, "digest": "5b3f6a...", "ops": [
//     {"op": "conv2d", "value": "conv2d_0.tmp_0", "key": "9d0c...", "precision": "low", "rule": "allow", "reason": "..."},
//
// An op that ranges said something of, and that another rule decided, has that as "measured": nobody measures again.
// `precision` decides: "low" or "fp32". `rule` and `reason` say what led to it when the plan was written. `key` (structure_keys.h) finds
// the op in a model that was exported again with other names, `value` where several ops have the same key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/program.h"
#include "passes/amp/decide/decision.h"

namespace ampc {

struct PlanEntry {
  std::string type, value;
  uint64_t key = 0;
  bool low = false;
  std::string rule, reason;
  std::string measured;  // what ranges said of an op that another rule decided
};

struct Plan {
  std::vector<PlanEntry> entries;
  std::string digest;     // of the decisions as they are; written with them
  bool edited = false;    // the file's digest is another: somebody changed a decision
  bool measured = false;  // ranges that a user gave or measured were among the reasons
  JsonValue config;       // the options that led to them; null if the file has none
};

// Of a program as it was decided, not yet rewritten.
Plan PlanOf(const Program& program, const AmpDecision& decision);
// With plan.digest, whatever the entries are. `write_config` writes the member "config".
std::string PlanJson(const Plan& plan, absl::FunctionRef<void(JsonWriter&)> write_config);
// BadInput says what is wrong.
absl::StatusOr<Plan> ParsePlan(absl::string_view text);
// The same for a file, whose name an error has.
absl::StatusOr<Plan> ReadPlan(const std::string& path);

// The entries of a plan for the ops of a program.
struct PlannedOps {
  Plan plan;
  std::vector<int> entry;            // by Op::id: index in Plan::entries, -1 for none
  std::vector<std::string> misfits;  // a sentence for each entry that fits no op

  // Null for an op that the plan does not know.
  const PlanEntry* For(const Op& op) const {
    const int at = op.id() < static_cast<int>(entry.size()) ? entry[op.id()] : -1;
    return at < 0 ? nullptr : &plan.entries[at];
  }
};

// An op is that of an entry with its key and name; else of one with its key, in order, where as many ops as entries are left that have it.
PlannedOps MatchPlan(Plan plan, const Program& program);

}  // namespace ampc
