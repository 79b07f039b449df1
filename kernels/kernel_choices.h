// KernelChoices: which of several implementations computes a shape fastest, as measured; a kernel that has a choice asks here.
//
//   {"ampc-kernel-choices": 1, "machines": [
//     {"machine": "avx512_bf16, oneDNN 2.6.2", "choices": [
//       {"shape": "conv f32 batch 1 channels 64 to 64 ...", "implementation": "onednn:jit:avx512_core"},
//
// The bits of a result follow from the file, the instructions and the library: a shape that is known is never measured again, and the
// choice is the same for each number of threads.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"

namespace ampc {

// Thread-safe.
class KernelChoices {
 public:
  using Measure = absl::FunctionRef<absl::StatusOr<std::string>()>;

  // Those of a file, which need not be there yet. `machine`: this one's instructions and library; choices of others are kept and not used.
  // Errors: BadInput says where the file is wrong; IoError where it cannot be read.
  static absl::StatusOr<std::unique_ptr<KernelChoices>> Open(std::string path, std::string machine);

  // The choice for a shape: the known one, or what `measure` finds now. One measures at a time.
  absl::StatusOr<std::string> Get(const std::string& shape, Measure measure);

  // Adds what was measured to the file; where another process has measured the same shape, that stays.
  absl::Status Save();

  const std::string& path() const { return path_; }
  int known() const;     // shapes, of this machine
  int measured() const;  // of them, since Open

 private:
  using Choices = std::map<std::string, std::string>;  // implementation by shape
  KernelChoices(std::string path, std::string machine) : path_(std::move(path)), machine_(std::move(machine)) {}

  const std::string path_, machine_;
  mutable Mutex mutex_;
  std::map<std::string, Choices> machines_ ABSL_GUARDED_BY(mutex_);
  int measured_ ABSL_GUARDED_BY(mutex_) = 0, unsaved_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ampc
