// ConvertOptions: all that can be said about a conversion, and the one table of it: flags, configuration files, help, what a converted
// model records and the text of the pipeline are made from its rows.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "graph/base/dtype.h"
#include "graph/base/memory_files.h"
#include "passes/pipeline.h"

namespace ampc {

class Program;
struct AmpDecision;
struct ConvertResult;
struct OpTimes;
struct Plan;

// The current stage: "loading", "verifying", the name of a pass, "saving". `total` is 0 where nobody knows how much there is to do.
struct ConvertProgress {
  absl::string_view stage;
  double done = 0, total = 0;
};

struct ConvertOptions {
  std::string model = {}, output = {};
  std::string params = {}, params_output = {};  // where the weights are, and where they go; "" beside the program and the output
  // Files that lie in memory: `model` and all that it refers to are looked for there first; the model's files go into `into` instead of
  // to the disk.
  const MemoryFiles* from = nullptr;
  MemoryFiles* into = nullptr;

  DType dtype = DType::kF16;
  std::string level = "O2";                                  // O0, O1, O2, auto; OD with a Paddle mode
  std::string mode = "own";                                  // or a release of --compat
  bool low_io = false;                                       // feeds and fetches that low ops touch become low
  std::vector<std::string> keep_io = {}, low_io_names = {};  // by name: never, always
  bool guard = false, promote = false;
  std::vector<std::string> white_list = {}, black_list = {}, black_vars = {};
  std::string classes = {};                             // rules, passes/amp/decide/lists.h
  std::vector<std::string> include = {}, exclude = {};  // selectors, passes/amp/select/selector.h
  std::string on_overflow = "clamp";                    // clamp, keep, error
  std::string on_tiny = "subnormal";                    // subnormal, flush, keep
  bool rescale = false;                                 // weights that fp16 lacks are multiplied by powers of two
  std::string target = "cuda";                          // whose support for low precision counts, and whose time; a name of TargetNames
  std::string runtime = "ampc";                         // what executes the model: a name of RuntimeNames
  bool program_only = false, no_sync = false;
  bool decide_only = false;                                            // nothing is written: for whoever only wants to know
  std::vector<std::string> calibrate = {};                             // files with the feeds of one run each
  std::vector<std::string> mean = {}, deviation = {}, feed_dims = {};  // how pictures become feeds (runtime/feed_words.h), and sizes
  std::string channels = "RGB";
  int probe = 0;                               // runs on made inputs where none of these is given
  std::string ranges = {}, save_ranges = {};   // what an earlier calibration measured; where all ranges are written
  std::vector<std::string> input_ranges = {};  // declared: NAME=LOW:HIGH of feeds
  bool ranged = false;                         // some of these are used: Convert's
  std::string plan = {},
              plan_out = {};  // files: decisions that count more than options (those that stand in it are not read); where all are written
  std::shared_ptr<const Plan> planned = {};    // the contents of `plan`; null: Convert reads it
  std::string profile = {};                    // a file with times of ops on `target`; "cached": this machine's (times.h);
  std::shared_ptr<const OpTimes> times = {};   // its contents: Convert's
  std::string plan_digest = {};                // of a plan that somebody edited: Convert's
  std::string report = {}, write_config = {};  // files

  // Names of the options that the user chose; the others are defaults, which give way to what a converted model was made with
  // (made_with.h). Null: all are chosen.
  std::optional<std::set<std::string>> given = {};
  std::vector<std::string> also_read = {};  // files that led to these options: not to be written over
  std::string command = {};                 // the command line that asks for the same again, for the report; "" for none

  // Called on the converting thread, often; false stops the conversion, which leaves no output: absl::StatusCode::kCancelled.
  std::function<bool(const ConvertProgress&)> progress = {};
  // Called once the program is decided and not yet rewritten, of a model that was converted before, too. Ops and values stay
  // where they are.
  std::function<void(const Program& program, const AmpDecision& decision)> decided = {};
  // The page of a `report` that ends in .html; null: only .json can be written.
  std::function<std::string(const ConvertResult&)> page = {};
};

// "fp16" or "bf16", as --dtype takes it.
inline const char* DTypeWord(DType low) { return low == DType::kBF16 ? "bf16" : "fp16"; }

// How an option looks on the command line and in a configuration file.
enum class OptionForm : uint8_t {
  kText,
  kNumber,
  kFlag,         // a JSON bool
  kList,         // an array of strings
  kFlagOrNames,  // alone, or names of feeds and fetches: a JSON bool or an array of strings
  kNone,         // cannot be given: follows from others
};

enum class OptionScope : uint8_t {
  kRun,      // this run: names of files
  kConfig,   // what comes out: configuration files have it
  kDecides,  // that, and what becomes of ops: a converted model records it and is held against it
};

// The headings of the help, in their order.
enum class OptionHeading : uint8_t { kBasic, kSelection, kRuns, kWeights, kFiles, kPaddle };
const char* Name(OptionHeading heading);

// A pass that gets the option: under which name, also where it is the default, and what stands between the items of a list;
// "" for JoinItems.
struct PassUse {
  const char* pass;
  const char* as;
  bool always = false;
  const char* between = ",";
};

struct ConvertOption {
  using Member = std::variant<DType ConvertOptions::*, bool ConvertOptions::*, int ConvertOptions::*, std::string ConvertOptions::*,
                              std::vector<std::string> ConvertOptions::*>;

  const char* name;
  OptionForm form;
  OptionScope scope;
  Member member;
  OptionHeading heading = OptionHeading::kBasic;
  const char* help = "";
  std::vector<std::string> values = {};  // a text is one of these
  std::vector<PassUse> passes = {};
  const char* chosen_by = "";  // the option with which a user chooses it, where it is another
  bool split = false;          // a list is split at commas
  const char* shown = "";      // the value in the help, where it is no file and none of `values`
};

// In the order in which everything that is written has them, and under its heading the help.
const std::vector<ConvertOption>& ConvertOptionTable();

// Fills in a `level` that is empty, the default of the mode, and the `target` that a `runtime` has. Usage errors for what contradicts
// itself, as they are said on the command line; exit code 4 for what is known and not supported.
absl::Status ResolveConvertOptions(ConvertOptions* options);

// fp32 program -> mixed precision program, by reversible edits only: types, attributes, inserted casts, weights. Empty at O0. The parts
// follow each other: what is known of values, what is decided, what is rewritten, whether it is right.
Pipeline MeasurePipeline(const ConvertOptions& options);
Pipeline DecidePipeline(const ConvertOptions& options);
Pipeline RewritePipeline(const ConvertOptions& options);
Pipeline CheckPipeline(const ConvertOptions& options);
Pipeline ConvertPipeline(const ConvertOptions& options);

}  // namespace ampc
