// Scope: the params and states that a training program keeps between its runs, by name.
//
// A variable is held in storage type (kernels/kernel.h): one declared f16 or bf16 is f32 values that are rounded to that type.
// Plans point into a Scope: a variable keeps its address until the Scope dies, so it is neither removed nor resized.
// With a mirror, programs on a device read and overwrite copies of the variables there; whoever reads a value here gets the newest one,
// waiting for its copy, but a pointer that was taken before a run sees the old one until the next Find, FindStorage or variables().
// Not thread-safe: nothing else may use a Scope while a program runs on it, and a writer is alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/dtype.h"
#include "graph/base/host_tensor.h"

namespace ampc {

class Device;       // kernels/device/device.h
class ScopeMirror;  // runtime/exec/scope_mirror.h

class Scope {
 public:
  Scope();
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  struct Variable {
    DType dtype = DType::kInvalid;  // declared
    HostTensor value;               // in StorageType(dtype)
  };

  // A new variable of declared type `dtype`; `value` is in that type or in storage type and is rounded to it. UsageError, naming
  // the variable, for a name that is there already or another type.
  absl::Status Add(const std::string& name, DType dtype, HostTensor value);
  // Null when absent.
  const Variable* Find(absl::string_view name) const;
  // The storage, to be changed in place: same dims, values that the declared type has. Null when absent.
  HostTensor* FindStorage(absl::string_view name);

  // A copy in the declared type. UsageError, with a suggestion, when absent.
  absl::StatusOr<HostTensor> Get(absl::string_view name) const;
  // Overwrites in place. `value` is in the declared or the storage type, with the variable's dims; UsageError otherwise.
  absl::Status Set(absl::string_view name, const HostTensor& value);
  // Declares a float variable anew among f32, f16 and bf16 and rounds it in place: what AMP does to a param after the startup
  // program has taken a master copy of it. A wider type keeps the values.
  absl::Status SetDType(absl::string_view name, DType dtype);

  const std::map<std::string, Variable, std::less<>>& variables() const;
  int64_t bytes() const;  // of all values as stored

  // The copies on `device`, which is the same in all calls; made at the first.
  absl::StatusOr<ScopeMirror*> Mirror(const std::shared_ptr<Device>& device);
  // Brings the values of these variables (all of them) up to date, with one wait where they are small. Reading them does that too, but
  // cannot say what went wrong.
  absl::Status Refresh(absl::Span<const std::string> names) const;
  absl::Status RefreshAll() const;
  // Until the work that programs on a device have enqueued is done; its error, which reading by Find does not return.
  absl::Status Wait() const;
  // The variable itself, for a mirror's use: its value may be an old one. Null when absent.
  Variable* FindVariable(absl::string_view name);

 private:
  std::map<std::string, Variable, std::less<>> variables_;  // nodes do not move
  std::unique_ptr<ScopeMirror> mirror_;                     // null without a device
};

}  // namespace ampc
