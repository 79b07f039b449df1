#include "runtime/train/data_parallel.h"

#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/fnv.h"
#include "graph/base/status_macros.h"
#include "kernels/communicator.h"
#include "kernels/device/device_job.h"
#include "passes/parallel/data_parallel.h"
#include "runtime/train/mpi.h"

namespace ampc {
namespace {

// A hash of names, types and dims, to find out that the scopes differ before values are mixed up.
uint64_t Shape(const Scope& scope) {
  uint64_t hash = Fnv1a("");
  const auto add = [&hash](absl::string_view bytes) { hash = Fnv1a(bytes, hash); };
  for (const auto& [name, variable] : scope.variables()) {
    add(name);
    add(absl::StrCat(":", static_cast<int>(variable.dtype)));
    for (const int64_t dim : variable.value.dims()) add(absl::StrCat(",", dim));
  }
  return hash;
}

}  // namespace

absl::StatusOr<DataParallel> DataParallel::FromEnvironment() {
  if (!UnderMpi()) return DataParallel(0, 1);
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> job, JoinMpi());
  const DataParallel joined(job->rank(), job->size());
  SetProcessCommunicator(std::move(job));
  return DataParallel(joined.rank_, joined.size_);
}

absl::Status DataParallel::Prepare(Program& main) const { return size_ == 1 ? absl::OkStatus() : MakeDataParallel(rank_, main).status(); }

absl::Status DataParallel::Synchronize(Scope& scope) const {
  if (size_ == 1) return absl::OkStatus();
  uint64_t shape = Shape(scope);
  const uint64_t own = shape;
  AMPC_RETURN_IF_ERROR(ProcessCommunicator()->Broadcast({reinterpret_cast<char*>(&shape), sizeof(shape)}, 0));
  if (shape != own)
    return UsageError(absl::StrCat("process ", rank_, " trains another program than process 0: their params and states differ"));
  for (const auto& [name, variable] : scope.variables()) {
    HostTensor& value = *scope.FindStorage(name);
    AMPC_RETURN_IF_ERROR(ProcessCommunicator()->Broadcast({static_cast<char*>(value.mutable_data()), value.size_bytes()}, 0));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorMap> DataParallel::Share(const TensorMap& batch) const {
  if (size_ == 1) return batch;
  TensorMap out;
  for (const auto& [name, whole] : batch) {
    const int64_t rows = whole.rank() == 0 ? 0 : whole.dims()[0];
    if (rows < size_)
      return UsageError(absl::StrCat("feed '", name, "' has ", rows, " rows, ", size_, " processes need at least one each"));
    const int64_t n = rows / size_;
    std::vector<int64_t> dims(whole.dims().begin(), whole.dims().end());
    dims[0] = n;
    AMPC_ASSIGN_OR_RETURN(HostTensor part, HostTensor::CreateUninitialized(whole.dtype(), dims));
    if (part.size_bytes() > 0) {
      std::memcpy(part.mutable_data(), static_cast<const char*>(whole.data()) + static_cast<size_t>(rank_) * part.size_bytes(),
                  part.size_bytes());
    }
    out.emplace(name, std::move(part));
  }
  return out;
}

absl::StatusOr<double> DataParallel::Mean(double value) const {
  if (size_ == 1) return value;
  auto sum = static_cast<float>(value);
  AMPC_RETURN_IF_ERROR(ProcessCommunicator()->AllReduceSum({&sum, 1}));
  return static_cast<double>(sum) / size_;
}

absl::Status DataParallel::Barrier() const { return size_ == 1 ? absl::OkStatus() : ProcessCommunicator()->Barrier(); }

absl::Status DataParallel::Finish() {
  if (size_ == 1) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(Barrier());
  SetProcessDeviceJob(nullptr);
  SetProcessCommunicator(nullptr);
  size_ = 1;
  return absl::OkStatus();
}

}  // namespace ampc
