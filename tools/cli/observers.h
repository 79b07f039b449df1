// RunObserver: what `ampc run` can tell about the steps of a run.
#pragma once

#include <string>

#include "runtime/exec/observer.h"
#include "tools/cli/console.h"
#include "tools/cli/trace.h"

namespace ampc {

class RunObserver : public StepObserver {
 public:
  struct Options {
    bool check_nan_inf = false;  // AfterStep fails (exit code 1) at the first result that is not finite
    bool verbose = false;        // a line per step on stderr
    bool trace = false;          // collect for TraceJson
  };
  RunObserver(Options options, Console& console) : options_(options), console_(console) {}

  bool needed() const { return options_.check_nan_inf || options_.verbose || options_.trace; }
  bool wants_values() const override { return options_.check_nan_inf; }
  absl::Status AfterStep(const ObservedStep& step) override;
  std::string TraceJson() const { return trace_.ToJson(); }

 private:
  Options options_;
  Console& console_;
  Trace trace_;
};

}  // namespace ampc
