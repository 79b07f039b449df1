// Trainer: runs a training program step by step; params and states live in its Scope.
//
//   AMPC_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(builder.Build(), {.threads = 2}));
//   AMPC_ASSIGN_OR_RETURN(TensorMap out, trainer.Step({{"x", images}, {"y", labels}}));
//
// Create puts the weights of `main` into the scope, runs `startup` once on them (so masters are made from unrounded values),
// then rounds what the program declares low. Plans are kept per dims of the feeds. With accumulate = k the ops whose op_role is
// Optimize run after every k-th call of Step, on the mean of the k gradients (summed in f32); the others run in every call.
// A step that overflowed changes nothing but the scale and its counters: params, moments and schedulers are not updated, and what the
// forward pass has written, such as the statistics of batch_norm, is put back.
// A failed Step may leave states half written: Restore, or give up. One thread at a time; a Trainer may move between threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/training_program.h"
#include "runtime/exec/scope.h"
#include "runtime/tensor_map.h"
#include "runtime/train/checkpoint.h"

namespace ampc {

// One loss scaling of the program: an update_loss_scaling op, or a check_finite_and_unscale op with a fixed scale.
struct ScalerReport {
  std::string name;        // of the scale's variable
  double scale = 1;        // after the step
  bool found_inf = false;  // in this step: the update was skipped
  bool at_floor = false;   // in this step it was found although the scale could not fall
  int64_t skipped = 0;     // steps so far
  int64_t skipped_in_a_row = 0;
};

struct StepReport {
  int64_t step = 0;                    // number of this call of Step, from 0
  bool updated = true;                 // false: gradients were only accumulated; scalers are as before
  bool loss_finite = true;             // where not, the step was skipped; see TrainerOptions::loss
  const TensorMap* fetches = nullptr;  // valid during the call
  std::vector<ScalerReport> scalers;
  std::vector<double> learning_rates;  // of the optimizer ops, each variable once, in program order; after the step
  std::string alarm;                   // "" or one sentence: see alarm_after
};

struct TrainerOptions {
  std::string device = "cpu";  // or "cuda", "cuda:1"; exit code 4 where that cannot be. The startup program runs on the CPU
  int threads = 0;             // 0: all processors
  int accumulate = 1;          // calls of Step per update
  // The name of the loss, "" for none. A step (with accumulate: the calls up to an update) in which it is not finite is skipped, as one
  // that overflowed. Unless keep_going, such a step ends with exit code 1, where no scale fell because of it; so does a step that
  // overflowed at the smallest scale. The batch runs once more, checked, and the message names the first op whose result is not finite.
  std::string loss = "";
  bool keep_going = false;
  // The values that a skipped step's forward pass wrote stay, as in Paddle: one overflow there makes statistics NaN for good.
  bool keep_skipped_statistics = false;
  // Stop with exit code 1 at the first result that is not finite, naming op, tensor, count and place. Slow.
  bool check_nan_inf = false;
  // After so many skipped steps in a row (and each multiple), the batch runs once more, checked, on the state from before the step;
  // StepReport::alarm names the first op whose result was not finite. The state of the training is not touched. 0: never.
  int64_t alarm_after = 0;
  // Called after each Step, in its thread.
  std::function<void(const StepReport&)> log = nullptr;
  bool tf32 = false;               // as in SessionOptions
  int64_t memory_limit_bytes = 0;  // as in SessionOptions
};

struct RestoredCheckpoint {
  std::string path;  // the directory that was read
  int64_t steps = 0;
  DataPosition position;
  std::vector<std::string> notes;  // newer checkpoints that were damaged, a program that has changed since: one sentence each
};

class Trainer {
 public:
  // An error in `program` is returned. Otherwise exit codes as Session::Create, and: a state that nothing initialises, a startup program
  // that reads what nobody gave a value (3); accumulate where Optimize ops read more of the others' results than gradients (4).
  static absl::StatusOr<Trainer> Create(absl::StatusOr<TrainingProgram> program, const TrainerOptions& options = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // Its variables keep their addresses for the life of the Trainer, also when it is moved.
  Scope& scope();
  const Scope& scope() const;

  // One batch. Feeds and fetches as Session::Run; the fetch of a param or state is its value after the step. Fetches of Optimize ops
  // are absent from a call that only accumulates.
  absl::StatusOr<TensorMap> Step(const TensorMap& feeds);
  // Step without fetches, reports and alarms: scalers() stays as the last Step left it, and skips of this step are not counted in it; the
  // scale itself and its counters are in the scope. On a device the host does not wait: the call returns when the work is enqueued, and an
  // error of the work comes with a later call that waits (Wait, Step, Test, Save, scope().Get). Not with check_nan_inf (usage error).
  absl::Status Enqueue(const TensorMap& feeds);
  // Until all that was enqueued is done; its first error.
  absl::Status Wait();
  // A program that reads the scope by name and writes nothing in it. A param or state of it must be in the scope with the same dims
  // and a declared type that is as wide (usage error otherwise). Test always sees the values of the moment.
  absl::Status SetTestProgram(Program program);
  absl::StatusOr<TensorMap> Test(const TensorMap& feeds);

  int64_t steps() const;    // calls of Step and Enqueue that went through
  int64_t updates() const;  // of those, how many ended a window of accumulation; skipped ones count
  const std::vector<ScalerReport>& scalers() const;

  // Everything that decides how the training goes on, as a new checkpoint in `directory`; the last `keep` are kept, at least one.
  // See runtime/train/checkpoint.h. IoError when it could not be written; the older ones are whole then.
  absl::Status Save(const std::string& directory, const DataPosition& position = {}, int keep = 3) const;
  // Goes on from the newest whole checkpoint of `directory`, bit for bit. Bad input (exit 3) when there is none, or it belongs to
  // another program: says which variables are missing, extra or of another type; the state is as before then.
  absl::StatusOr<RestoredCheckpoint> Restore(const std::string& directory);

  const Program& program() const;  // `main` as it was given, without weights: the scope has the values
  int64_t arena_bytes() const;     // temporaries of the newest plan of a step; the scope's values come on top

 private:
  struct State;
  explicit Trainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ampc
