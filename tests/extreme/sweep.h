// Many models, tried in children of this process, so that one which crashes or hangs costs itself only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/extreme/odd_model.h"

namespace ampc::extreme {

struct SweepOptions {
  uint64_t seed = 1;
  int64_t first = 0, count = 1000, step = 1;  // models first, first + step, ...
  std::string only;                           // of ops whose name contains this
  int64_t memory_bytes = int64_t{2} << 30;    // addresses of a child; 0: no limit (sanitizers need many)
  int seconds = 10;                           // of a child's processor time for one model
  int models_per_child = 400;
  int changes = -1;                              // of each model; -1: none of the first round, then one or two
  std::function<OddModel(int64_t index)> model;  // where given, these models instead
};

// The result of one model.
struct Outcome {
  bool ran = false;
  uint64_t results = 0;  // of one that ran: a hash of all that it gave
  int64_t first = 0;     // the first element of its first result, where that is an i64
};

struct Failure {
  int64_t index;
  std::string op, stage;
  std::string what;   // "signal 11", "hang", "exit 5: ..."
  std::string model;  // Describe()
};

struct SweepResult {
  int64_t tried = 0, ran = 0, refused = 0, short_of_memory = 0;
  std::vector<Failure> failures;
  std::vector<Outcome> outcomes;          // by position
  std::vector<std::string> ops_that_ran;  // unchanged, at least once; sorted, without repetition
};

// The model with that index: the same for the same seed. Unchanged ones come first, one of each op.
OddModel ModelOf(const SweepOptions& options, int64_t index);
SweepResult Sweep(const SweepOptions& options);

// The lines of a list in this folder without their reasons, which stand behind " # ".
std::vector<std::string> ReadList(const std::string& path);
// Is the failure one that known.txt speaks of?
bool IsKnown(const Failure& failure, const std::vector<std::string>& known);

}  // namespace ampc::extreme
