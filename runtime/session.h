// Session: load a model, run it. The convenience that ties formats, passes, plan and executor together.
//
//   absl::StatusOr<ampc::Session> s = ampc::Session::Load("rec_fp16.pdmodel", {.device = "cpu", .threads = 2});
//   absl::StatusOr<ampc::TensorMap> out = s->Run({{"x", image}});
//
// On a device the values are in its memory in their declared types, feeds and fetches are copied, and ops that it has no kernel for
// run on the host; results are those of the CPU within the rounding of sums and transcendental functions.
// Thread-safe: any number of threads may Run one Session at the same time; each run has a private arena. A Session is
// movable; moving it while a Run is under way is an error of the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/program.h"
#include "runtime/exec/observer.h"
#include "runtime/tensor_map.h"

namespace ampc {

struct SessionOptions {
  std::string device = "cpu";    // or "cuda", "cuda:1"; exit code 4 where that cannot be
  int threads = 0;               // for one run; 0: all processors
  bool strict_rounding = false;  // no fusion: every op rounds its result to its declared type
  std::string params = {};       // file with the weights where the model's name does not imply it
  // On the CPU f16 and bf16 values that pass from op to op inside a run keep the float32 that was computed, or are stored in bf16 where the
  // CPU computes in it and that is faster; they are rounded where an op casts, where a loop or branch hands them on, and when fetched.
  // False, or strict_rounding: each result is rounded to its type.
  bool excess_precision = true;
  // A JSON file that says which of several implementations computes a convolution or product. A plan measures the shapes that it lacks, and
  // adds them to the file, which need not be there yet. The same file gives the same bits, whatever the number of threads. "": the choice
  // follows from the shapes. On the CPU only (usage error otherwise).
  std::string tune_plans = {};
  bool in_place = true;            // results may take the memory of operands that are not needed any more
  bool tf32 = false;               // on a device: f32 products and convolutions may round their operands to TF32
  int64_t memory_limit_bytes = 0;  // of the device's memory, for all sessions and trainers of the process together; 0: all of it
};

struct ValueInfo {
  std::string name;
  TensorType type;
};

class Session {
 public:
  // Errors carry the exit codes of graph/base/error.h: 3 absent or bad file, 4 not supported (an op without kernel, a device).
  static absl::StatusOr<Session> Load(const std::string& path, const SessionOptions& options = {});
  static absl::StatusOr<Session> Create(Program program, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Feeds by name, with the declared dtype and compatible dims (usage error, exit code 2, otherwise). The fetches own
  // their memory and have their declared dtype. Feeds are read where they lie, and not written. The first run with new dims plans; later
  // ones with the same dims only run.
  absl::StatusOr<TensorMap> Run(const TensorMap& feeds) const;
  // The same with the feeds in the order of inputs() and the fetches in that of outputs().
  absl::StatusOr<std::vector<HostTensor>> RunOrdered(absl::Span<const HostTensor* const> feeds) const;
  // The same into tensors of the caller, one for each fetch, of its type and dims (usage error otherwise). After an error their values
  // are not known. If one plan holds the program, it computes in their memory.
  absl::Status RunInto(absl::Span<const HostTensor* const> feeds, absl::Span<HostTensor> fetches) const;
  // The same, reporting every step to `observer`.
  absl::StatusOr<TensorMap> Run(const TensorMap& feeds, StepObserver& observer) const;

  // The steps of a run with feeds of these dims: a line for each with its kernel, the memory of its operands and the stored type of its
  // results. Errors as Run; UnsupportedError where no one plan holds the program.
  absl::StatusOr<std::string> PlanText(const TensorMap& feeds) const;

  std::vector<ValueInfo> inputs() const;
  std::vector<ValueInfo> outputs() const;
  // The program as it runs: after the plan pipeline.
  const Program& program() const;
  // Plans kept and the arena bytes of the newest (of the largest where one run needs several): for reports.
  int num_plans() const;
  int64_t arena_bytes() const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ampc
