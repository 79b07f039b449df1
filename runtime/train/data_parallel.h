// DataParallel: one training on several processes. Each reads its share of every batch, all take the same step.
//
//   mpirun -n 2 ampc train ...
//
//   AMPC_ASSIGN_OR_RETURN(DataParallel job, DataParallel::FromEnvironment());
//   AMPC_RETURN_IF_ERROR(job.Prepare(program.main));                     // before Trainer::Create
//   AMPC_RETURN_IF_ERROR(job.Synchronize(trainer.scope()));              // after it, and after Restore
//   AMPC_ASSIGN_OR_RETURN(TensorMap feeds, job.Share(batch));            // then trainer.Step(feeds)
//   if (job.is_main()) { ... }                                           // log, test, save
//   AMPC_RETURN_IF_ERROR(job.Finish());
//
// All processes keep the same params, moments, statistics, scale and counters bit for bit, so the one that saves writes for all; a
// training with another number of processes can go on from it. With a loss that is a mean over the batch, a step is the step of one process
// on the whole batch within rounding, but for what looks at the batch as a whole: batch_norm normalises by its own share (see
// passes/parallel/data_parallel.h). A process that ends early or dies ends the job: mpirun says which one it was, and returns its exit
// code. mpirun gives each of two processes one core: `--bind-to none` lets them use more threads.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/program.h"
#include "runtime/exec/scope.h"
#include "runtime/tensor_map.h"

namespace ampc {

class DataParallel {
 public:
  // Joins the job where mpirun started several processes; else a job of one, for which everything below does nothing. Once per process.
  // Unsupported (exit 4) where the MPI library is not there.
  static absl::StatusOr<DataParallel> FromEnvironment();
  DataParallel(DataParallel&& other) noexcept : rank_(other.rank_), size_(std::exchange(other.size_, 1)) {}
  DataParallel& operator=(DataParallel&&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_main() const { return rank_ == 0; }

  // Adds the exchange of gradients to a program that trains (passes/parallel/data_parallel.h); one without an optimizer keeps as it is.
  // TrainerOptions::alarm_after must be the same everywhere: all processes run a batch again, or none.
  absl::Status Prepare(Program& main) const;
  // The values of process 0 everywhere. All scopes have the same variables.
  absl::Status Synchronize(Scope& scope) const;

  // Rows [rank * n, (rank + 1) * n) of every tensor, where n is its rows divided by size(), rounded down: the rows that do not divide are
  // left out, because a mean over unequal shares would be another one. Usage error for a scalar or fewer rows than processes.
  absl::StatusOr<TensorMap> Share(const TensorMap& batch) const;
  // The mean over the processes: of losses and accuracies to be shown.
  absl::StatusOr<double> Mean(double value) const;
  // Waits for all.
  absl::Status Barrier() const;

  // The end of the job, made by all processes; a process that leaves without it counts as failed.
  absl::Status Finish();

 private:
  DataParallel(int rank, int size) : rank_(rank), size_(size) {}
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace ampc
