// ConvertModel: the work behind `ampc convert`: read, decide, rewrite, write, and what can be said about it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/atomic_file_set.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/decide/ranges.h"
#include "passes/amp/report/report.h"
#include "passes/pipelines.h"
#include "tools/cli/model_facts.h"
#include "tools/cli/stages.h"

namespace ampc {

struct ConvertResult;

struct ConvertRequest {
  std::string input, output;
  std::string params;         // where the weights are, "" beside the program
  std::string params_output;  // where they go, "" beside the output
  ConvertOptions options;     // passes/pipelines.h
  std::string target = "cuda";
  // Names of the options that the user chose, without dashes; the others are defaults, which give way to what a converted model was made with
  // (made_with.h). Null: all are chosen.
  std::optional<std::set<std::string>> given;
  bool program_only = false;
  bool no_sync = false;
  // Ranges of values that decide, too (passes/amp/decide/ranges.h): from a file, and measured; `save_ranges` gets all of them.
  std::string ranges, save_ranges;
  std::function<absl::StatusOr<Ranges>(const Program&)> measure;  // null: nothing is run
  bool ranged = false;  // ConvertModel's: some of these are used
  // Adds what is written with the model to its files: all appear together, or none (graph/base/atomic_file_set.h). Null: nothing.
  std::function<absl::Status(const ConvertResult& result, AtomicFileSet& files)> add_files;
  std::string command;  // the command line that asks for the same again, for the report; "" for none
  StageTeller stage;                                        // loading, the passes, saving
  std::function<void(double done, double total)> progress;  // while weights are written
};

struct ConvertResult {
  ModelFacts before, after;
  // In effect: those of the request, or what the model was made with before.
  ConvertOptions options;
  std::string target;
  int64_t bytes_before = 0, bytes_after = 0;  // of the model's files
  double load_seconds = 0, pass_seconds = 0, save_seconds = 0;
  double sync_seconds = 0;  // of save_seconds: until the disk had it
  std::vector<std::string> notes;
  std::shared_ptr<const AmpDecision> decision;  // null at level O0
  std::map<std::string, WeightDamage> damages;  // of the weights and literals that are stored low, by name
  std::shared_ptr<const Program> program;  // the converted one
  double seconds() const { return load_seconds + pass_seconds + save_seconds; }
};

// Errors leave no output behind. Exit codes as everywhere: 2 options, 3 input, 4 not supported, 5 writing.
absl::StatusOr<ConvertResult> ConvertModel(const ConvertRequest& request);

// What it did, op by op. Made when it is asked for: a program of a million ops has a large one.
AmpReport ReportOf(const ConvertResult& result);
// The report of `ampc convert --report r.json`.
std::string ReportJson(const ConvertRequest& request, const ConvertResult& result, const AmpReportLimits& limits = {});

}  // namespace ampc
