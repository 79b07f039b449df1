// RunObserver: what `ampc run` can tell about the steps of a run.
#pragma once

#include <string>
#include <vector>

#include "runtime/exec/observer.h"
#include "tools/cli/console.h"

namespace ampc {

class RunObserver : public StepObserver {
 public:
  struct Options {
    bool check_nan_inf = false;  // AfterStep fails (exit code 1) at the first result that is not finite
    bool verbose = false;        // a line per step on stderr
    bool trace = false;          // collect for WriteTrace
  };
  RunObserver(Options options, Console& console) : options_(options), console_(console) {}

  bool needed() const { return options_.check_nan_inf || options_.verbose || options_.trace; }
  bool wants_values() const override { return options_.check_nan_inf; }
  absl::Status AfterStep(const ObservedStep& step) override;
  // The trace event format that chrome://tracing and Perfetto read.
  absl::Status WriteTrace(const std::string& path) const;

 private:
  struct Event {
    std::string name, type, implementation, place, results;
    double start, seconds;
  };
  Options options_;
  Console& console_;
  std::vector<Event> events_;
};

}  // namespace ampc
