// Pass: one rewrite or analysis of a Program, with one name, options as text and a claim whether it changed anything.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "passes/pass_context.h"

namespace ampc {

class Pass {
 public:
  virtual ~Pass() = default;
  // Rewrites `program` in place. Returns whether it changed anything; the pipeline checks the claim in tests.
  // A pass instance runs once, keeps no state between programs and has no side effect outside `ctx` and `program`.
  virtual absl::StatusOr<bool> Run(PassContext& ctx, Program& program) = 0;
};

using PassOptions = std::map<std::string, std::string, std::less<>>;

struct PassInfo {
  std::string name;                                          // the name in pipelines and on the command line
  std::string summary;                                       // one line for --help
  std::vector<std::pair<std::string, std::string>> options;  // {name, help}
  std::function<absl::StatusOr<std::unique_ptr<Pass>>(const PassOptions&)> make;
  bool completes =
      false;  // only fills what the program left open: where that contradicts what it says, the program is at fault, not the pass
};

class PassRegistry {
 public:
  absl::Status Add(PassInfo info);  // fails on a second pass with the same name
  const PassInfo* Find(absl::string_view name) const;
  std::vector<const PassInfo*> All() const;  // sorted by name
 private:
  std::map<std::string, PassInfo, std::less<>> passes_;
};

// Every pass of passes/all_passes.inc.
const PassRegistry& Passes();

}  // namespace ampc
