#include "kernels/device/cuda/nccl.h"

#include <nccl.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/cuda/shared_library.h"

namespace ampc {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(CollectiveId));

// The functions of the library that are used.
struct Functions {
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;

  absl::Status Status(ncclResult_t code, const char* call, ncclComm_t comm = nullptr) const {
    if (code == ncclSuccess || code == ncclInProgress) return absl::OkStatus();
    const char* const detail = get_last_error(comm);
    return InternalError(absl::StrCat(call, ": ", get_error_string(code), detail == nullptr || *detail == '\0' ? "" : ": ",
                                      detail == nullptr ? "" : detail));
  }
};

absl::StatusOr<Functions> OpenNccl() {
  AMPC_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open({"libnccl.so.2"}));
  Functions f;
  AMPC_RETURN_IF_ERROR(library.Load("ncclGetUniqueId", &f.get_unique_id));
  AMPC_RETURN_IF_ERROR(library.Load("ncclCommInitRank", &f.comm_init_rank));
  AMPC_RETURN_IF_ERROR(library.Load("ncclCommDestroy", &f.comm_destroy));
  AMPC_RETURN_IF_ERROR(library.Load("ncclCommAbort", &f.comm_abort));
  AMPC_RETURN_IF_ERROR(library.Load("ncclCommGetAsyncError", &f.comm_get_async_error));
  AMPC_RETURN_IF_ERROR(library.Load("ncclGetErrorString", &f.get_error_string));
  AMPC_RETURN_IF_ERROR(library.Load("ncclGetLastError", &f.get_last_error));
  AMPC_RETURN_IF_ERROR(library.Load("ncclAllReduce", &f.all_reduce));
  AMPC_RETURN_IF_ERROR(library.Load("ncclBroadcast", &f.broadcast));
  AMPC_RETURN_IF_ERROR(library.Load("ncclGroupStart", &f.group_start));
  AMPC_RETURN_IF_ERROR(library.Load("ncclGroupEnd", &f.group_end));
  return f;
}

absl::StatusOr<ncclDataType_t> TypeOf(DType type) {
  switch (type) {
    case DType::kF32: return ncclFloat32;
    case DType::kF16: return ncclFloat16;
    case DType::kBF16: return ncclBfloat16;
    case DType::kF64: return ncclFloat64;
    case DType::kI32: return ncclInt32;
    case DType::kI64: return ncclInt64;
    case DType::kI8: return ncclInt8;
    case DType::kU8:
    case DType::kBool: return ncclUint8;
    default: return UnsupportedError("collectives: values of this type are not reduced");
  }
}

cudaStream_t Native(Stream& stream) { return static_cast<cudaStream_t>(stream.native()); }

// Work that waits for a rank that died would never end. A thread asks the library for such errors and gives the work up, so that who waits
// for the stream goes on, and Check says why.
class NcclCollectives : public Collectives {
 public:
  NcclCollectives(const Functions& functions, ncclComm_t comm, int rank, int size)
      : f_(functions), comm_(comm), rank_(rank), size_(size), watchdog_([this] { Watch(); }) {}
  ~NcclCollectives() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      leaving_ = true;
    }
    wake_.notify_one();
    watchdog_.join();
    if (failed_.ok()) (void)f_.comm_destroy(comm_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  absl::Status AllReduce(const void* from, void* to, int64_t count, DType type, ReduceOp op, Stream& stream) override {
    AMPC_RETURN_IF_ERROR(Check());
    AMPC_ASSIGN_OR_RETURN(const ncclDataType_t nccl_type, TypeOf(type));
    const ncclRedOp_t nccl_op = op == ReduceOp::kSum ? ncclSum : ncclMax;
    return f_.Status(f_.all_reduce(from, to, static_cast<size_t>(count), nccl_type, nccl_op, comm_, Native(stream)), "ncclAllReduce",
                     comm_);
  }
  absl::Status Broadcast(void* data, int64_t bytes, int root, Stream& stream) override {
    AMPC_RETURN_IF_ERROR(Check());
    return f_.Status(f_.broadcast(data, data, static_cast<size_t>(bytes), ncclUint8, root, comm_, Native(stream)), "ncclBroadcast", comm_);
  }
  absl::Status GroupStart() override { return f_.Status(f_.group_start(), "ncclGroupStart", comm_); }
  absl::Status GroupEnd() override { return f_.Status(f_.group_end(), "ncclGroupEnd", comm_); }
  absl::Status Check() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return CheckLocked();
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{100};

  // The first error gives the communicator up: none of its calls may follow.
  absl::Status CheckLocked() {
    if (!failed_.ok()) return failed_;
    ncclResult_t earlier = ncclSuccess;
    failed_ = f_.Status(f_.comm_get_async_error(comm_, &earlier), "ncclCommGetAsyncError", comm_);
    if (failed_.ok()) failed_ = f_.Status(earlier, "NCCL, in earlier work", comm_);
    if (!failed_.ok()) (void)f_.comm_abort(comm_);
    return failed_;
  }

  void Watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!wake_.wait_for(lock, kInterval, [this] { return leaving_; })) {
      if (!CheckLocked().ok()) return;
    }
  }

  const Functions f_;
  const ncclComm_t comm_;
  const int rank_, size_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool leaving_ = false;  // these two under the mutex
  absl::Status failed_;   // the communicator is gone
  std::thread watchdog_;
};

class NcclLibrary : public CollectiveLibrary {
 public:
  absl::StatusOr<CollectiveId> NewId() override {
    AMPC_ASSIGN_OR_RETURN(const Functions f, Opened());
    ncclUniqueId nccl_id;
    AMPC_RETURN_IF_ERROR(f.Status(f.get_unique_id(&nccl_id), "ncclGetUniqueId"));
    CollectiveId id;
    std::memcpy(id.bytes.data(), &nccl_id, sizeof(nccl_id));
    return id;
  }
  absl::StatusOr<std::unique_ptr<Collectives>> Join(Device& device, const CollectiveId& id, int rank, int size) override {
    AMPC_ASSIGN_OR_RETURN(const Functions f, Opened());
    AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream());
    Native(*stream);  // the device becomes the thread's, which NCCL takes
    ncclUniqueId nccl_id;
    std::memcpy(&nccl_id, id.bytes.data(), sizeof(nccl_id));
    ncclComm_t comm = nullptr;
    AMPC_RETURN_IF_ERROR(f.Status(f.comm_init_rank(&comm, size, nccl_id, rank), "ncclCommInitRank"));
    return std::make_unique<NcclCollectives>(f, comm, rank, size);
  }

 private:
  absl::StatusOr<Functions> Opened() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (functions_ == nullptr) {
      AMPC_ASSIGN_OR_RETURN(const Functions f, OpenNccl());
      functions_ = std::make_unique<const Functions>(f);
    }
    return *functions_;
  }

  std::mutex mutex_;
  std::unique_ptr<const Functions> functions_;
};

}  // namespace

CollectiveLibrary& Nccl() {
  static auto* const library = new NcclLibrary;
  return *library;
}

}  // namespace ampc
