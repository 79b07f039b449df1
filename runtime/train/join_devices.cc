#include "runtime/train/join_devices.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/status_macros.h"
#include "kernels/communicator.h"
#include "kernels/device/collectives.h"
#include "kernels/device/device_job.h"
#include "runtime/train/mpi.h"

namespace ampc {

std::string DeviceOfProcess(const std::string& name) {
  const char* local_rank = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  return name == "cuda" && UnderMpi() && local_rank != nullptr ? absl::StrCat(name, ":", local_rank) : name;
}

absl::Status JoinDevices(const DeviceTarget& target) {
  Communicator* processes = ProcessCommunicator();
  if (processes == nullptr || processes->size() == 1 || target.collectives == nullptr) return absl::OkStatus();
  if (ProcessDeviceJob(*target.device) != nullptr) return absl::OkStatus();
  CollectiveId id;
  if (processes->rank() == 0) {
    AMPC_ASSIGN_OR_RETURN(id, target.collectives->NewId());
  }
  AMPC_RETURN_IF_ERROR(processes->Broadcast(absl::MakeSpan(id.bytes.data(), id.bytes.size()), 0));
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives,
                        target.collectives->Join(*target.device, id, processes->rank(), processes->size()));
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<DeviceJob> job, DeviceJob::Create(target.device, std::move(collectives)));
  SetProcessDeviceJob(std::move(job));
  return absl::OkStatus();
}

}  // namespace ampc
