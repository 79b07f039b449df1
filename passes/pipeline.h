// Pipeline: a straight list of passes with options, as text `a,b{key=value,other=v},c`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/pass.h"

namespace ampc {

struct PipelineStep {
  std::string pass;
  PassOptions options;
};

class Pipeline {
 public:
  // A list value inside braces is quoted: `amp-decide{white-list="a,b"}`, a quote in it doubled. Unknown passes or options are errors that
  // suggest a name.
  static absl::StatusOr<Pipeline> Parse(absl::string_view text);
  Pipeline& Add(std::string pass, PassOptions options = {});
  std::string ToString() const;  // parses back
  const std::vector<PipelineStep>& steps() const { return steps_; }

 private:
  std::vector<PipelineStep> steps_;
};

struct PipelineOptions {
  bool verify_each = true;    // Verify after every pass that reported a change
  bool check_claims = false;  // also compare fingerprints with the claim (tests, --verify-each=full)
  int stop_after = -1;        // run only the first N steps
  bool names_passes = true;   // in usage errors, too: false where the user gives options and knows no passes
  // Called before each step; an error ends the run.
  std::function<absl::Status(const PipelineStep&)> before = nullptr;
  // Called after each step that changed something (print-after), and with seconds (time-passes).
  std::function<void(const PipelineStep&, int index, const Program&, bool changed, double seconds)> after;
};

// Runs the steps in order. A failing step or a program broken by a step is an error that names the pass.
absl::Status RunPipeline(const Pipeline& pipeline, const PipelineOptions& options, PassContext& ctx, Program& program);

}  // namespace ampc
