#include "runtime/train/mpi.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

constexpr char kLibrary[] = "libmpi.so.40";  // Open MPI 4; its handles are addresses of exported objects
constexpr int kThreadSerialized = 2;         // one thread at a time calls

// The part of the interface that is used, as Open MPI's mpi.h declares it.
struct Mpi {
  int (*init_thread)(int*, char***, int, int*) = nullptr;
  int (*finalize)() = nullptr;
  int (*comm_rank)(void*, int*) = nullptr;
  int (*comm_size)(void*, int*) = nullptr;
  int (*all_reduce)(const void*, void*, int, void*, void*, void*) = nullptr;
  int (*broadcast)(void*, int, void*, int, void*) = nullptr;
  int (*barrier)(void*) = nullptr;
  void *world = nullptr, *f32 = nullptr, *byte = nullptr, *sum = nullptr, *in_place = nullptr;
};

template <typename T>
bool Load(void* library, const char* name, T* to) {
  *to = reinterpret_cast<T>(dlsym(library, name));
  return *to != nullptr;
}

absl::StatusOr<Mpi> LoadMpi() {
  // Global: the library's own plug-ins look for its symbols.
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return UnsupportedError(absl::StrCat("several processes need Open MPI 4 (Debian's openmpi-bin): ", dlerror()));
  Mpi mpi;
  const bool complete = Load(library, "MPI_Init_thread", &mpi.init_thread) && Load(library, "MPI_Finalize", &mpi.finalize) &&
                        Load(library, "MPI_Comm_rank", &mpi.comm_rank) && Load(library, "MPI_Comm_size", &mpi.comm_size) &&
                        Load(library, "MPI_Allreduce", &mpi.all_reduce) && Load(library, "MPI_Bcast", &mpi.broadcast) &&
                        Load(library, "MPI_Barrier", &mpi.barrier) && Load(library, "ompi_mpi_comm_world", &mpi.world) &&
                        Load(library, "ompi_mpi_float", &mpi.f32) && Load(library, "ompi_mpi_byte", &mpi.byte) &&
                        Load(library, "ompi_mpi_op_sum", &mpi.sum);
  if (!complete) return UnsupportedError(absl::StrCat(kLibrary, " is no Open MPI"));
  mpi.in_place = reinterpret_cast<void*>(1);
  return mpi;
}

absl::Status Check(int code, absl::string_view call) {
  return code == 0 ? absl::OkStatus() : IoError(absl::StrCat(call, " failed with code ", code));
}

// Lengths are ints there.
constexpr size_t kMost = size_t{1} << 30;

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(const Mpi& mpi, int rank, int size) : mpi_(mpi), rank_(rank), size_(size) {}
  ~MpiCommunicator() override { mpi_.finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  absl::Status AllReduceSum(absl::Span<float> values) override {
    for (size_t i = 0; i < values.size(); i += kMost) {
      const int n = static_cast<int>(std::min(kMost, values.size() - i));
      AMPC_RETURN_IF_ERROR(Check(mpi_.all_reduce(mpi_.in_place, values.data() + i, n, mpi_.f32, mpi_.sum, mpi_.world), "MPI_Allreduce"));
    }
    return absl::OkStatus();
  }
  absl::Status Broadcast(absl::Span<char> bytes, int root) override {
    for (size_t i = 0; i < bytes.size(); i += kMost) {
      const int n = static_cast<int>(std::min(kMost, bytes.size() - i));
      AMPC_RETURN_IF_ERROR(Check(mpi_.broadcast(bytes.data() + i, n, mpi_.byte, root, mpi_.world), "MPI_Bcast"));
    }
    return absl::OkStatus();
  }
  absl::Status Barrier() override { return Check(mpi_.barrier(mpi_.world), "MPI_Barrier"); }

 private:
  const Mpi mpi_;
  const int rank_, size_;
};

}  // namespace

bool UnderMpi() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  int n = 0;
  return size != nullptr && absl::SimpleAtoi(size, &n) && n > 1;
}

absl::StatusOr<std::unique_ptr<Communicator>> JoinMpi() {
  AMPC_ASSIGN_OR_RETURN(const Mpi mpi, LoadMpi());
  int given = 0, rank = 0, size = 0;
  AMPC_RETURN_IF_ERROR(Check(mpi.init_thread(nullptr, nullptr, kThreadSerialized, &given), "MPI_Init_thread"));
  AMPC_RETURN_IF_ERROR(Check(mpi.comm_rank(mpi.world, &rank), "MPI_Comm_rank"));
  AMPC_RETURN_IF_ERROR(Check(mpi.comm_size(mpi.world, &size), "MPI_Comm_size"));
  return std::make_unique<MpiCommunicator>(mpi, rank, size);
}

}  // namespace ampc
