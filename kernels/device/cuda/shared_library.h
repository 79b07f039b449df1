// SharedLibrary: a vendor's library, opened when it is needed, so that a program starts on machines that have none.
//
//   AMPC_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::Open({"libnccl.so.2"}));
//   decltype(&ncclAllReduce) all_reduce = nullptr;
//   AMPC_RETURN_IF_ERROR(library.Load("ncclAllReduce", &all_reduce));
//
// Folders, in this order: those of $AMPC_CUDA_LIBS (separated by colons); the loader's own; $CUDA_HOME/lib64, /usr/local/cuda/lib64;
// the nvidia packages of Python environments: $VIRTUAL_ENV, $CONDA_PREFIX, that of the first python3 in $PATH, the user's, the system's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ampc {

// A value that is copied; what it names stays open as long as the process. Thread-safe.
class SharedLibrary {
 public:
  // The first of `names` (sonames, the best first) that some folder has. Exit code 4: what was looked for and where, or what the
  // loader says about the file that was found.
  static absl::StatusOr<SharedLibrary> Open(const std::vector<std::string>& names);

  // Exit code 4 when the library has no such function.
  template <typename Function>
  absl::Status Load(const char* name, Function** function) const {
    const absl::StatusOr<void*> symbol = Symbol(name);
    if (symbol.ok()) *function = reinterpret_cast<Function*>(*symbol);
    return symbol.status();
  }
  absl::StatusOr<void*> Symbol(const char* name) const;
  const std::string& path() const { return path_; }  // as opened; a soname where the loader found it

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

// The folders without the loader's own, those that exist, in order.
std::vector<std::string> CudaLibraryFolders();

}  // namespace ampc
