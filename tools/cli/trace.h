// Trace: the steps of a run as a file for a trace viewer.
#pragma once

#include <string>
#include <vector>

#include "runtime/exec/observer.h"

namespace ampc {

class Trace {
 public:
  void Add(const ObservedStep& step);
  // The trace event format that chrome://tracing and Perfetto read: a complete event per step, in microseconds since the run's start.
  std::string ToJson() const;

 private:
  struct Event {
    std::string name, type, implementation, device, results;
    double start, seconds;
  };
  std::vector<Event> events_;
};

// The results of a step, "y: f32 [1, 10]", and its device: "cuda:0", or the cost of a step that is left to the host: "host
// (4096 bytes copied)".
std::string ResultTypes(const ObservedStep& step);
std::string DeviceText(const ObservedStep& step);

}  // namespace ampc
