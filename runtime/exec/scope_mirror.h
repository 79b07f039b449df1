// ScopeMirror: a scope's variables in a device's memory.
//
// A variable has a value on the host and, for each declared type that programs on the device give it, a copy there. One of them is
// the newest; the others are brought up to date when somebody is about to read them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/device/allocator.h"
#include "kernels/device/device.h"
#include "kernels/device/pinned_ring.h"
#include "runtime/exec/device_arena.h"
#include "runtime/exec/scope.h"

namespace ampc {

// As thread-safe as a scope. The variables keep their addresses while this lives.
class ScopeMirror {
 public:
  struct Entry;
  struct Copy {
    Entry* entry = nullptr;
    DType dtype = DType::kInvalid;
    DeviceBuffer memory;
    bool current = false;
  };
  struct Entry {
    Scope::Variable* variable = nullptr;
    bool host_current = true;
    std::vector<std::unique_ptr<Copy>> copies;
  };

  static absl::StatusOr<std::unique_ptr<ScopeMirror>> Create(std::shared_ptr<Device> device);
  ~ScopeMirror();

  const Device& device() const { return *device_; }
  // Of everything that reads or writes the copies.
  Stream& stream() { return *stream_; }

  // The variable's copy as `dtype`; its memory stays where it is. Not brought up to date. ResourceExhausted names the variable.
  absl::StatusOr<Copy*> Bind(const std::string& name, Scope::Variable& variable, DType dtype);

  // Brings copies, or the host's values, up to date. The host waits where it reads what the device has, and for large uploads.
  absl::Status Upload(absl::Span<Copy* const> copies);
  absl::Status Download(absl::Span<const Scope::Variable* const> variables);
  absl::Status DownloadAll();
  // Notes that these were just written, or are about to be by enqueued work.
  void Written(absl::Span<Copy* const> copies);
  void HostWritten(const Scope::Variable& variable);

  // Keeps the first error of a caller that cannot return it; Upload does.
  void Remember(const absl::Status& status) { error_.Update(status); }

 private:
  ScopeMirror() = default;
  absl::Status UploadOne(const Copy& copy);

  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  PinnedMemory small_;                 // downloads of small variables go through it together
  std::optional<PinnedRing> uploads_;  // small ones
  absl::node_hash_map<const Scope::Variable*, Entry> entries_;
  absl::Status error_;
};

// The variables of a scope that a program uses on a device.
class MirroredStates {
 public:
  explicit MirroredStates(ScopeMirror& mirror) : mirror_(&mirror) {}
  ScopeMirror& mirror() const { return *mirror_; }
  void Add(ScopeMirror::Copy* copy, bool written);

  // Around a run on the device, and around one that has its states on the host.
  absl::Status BeforeRun() const { return mirror_->Upload(all_); }
  void AfterRun() const { mirror_->Written(written_); }
  absl::Status BeforeHostRun() const { return mirror_->Download(variables_); }
  void AfterHostRun() const;

 private:
  ScopeMirror* mirror_;
  std::vector<ScopeMirror::Copy*> all_;
  std::vector<ScopeMirror::Copy*> written_;
  std::vector<const Scope::Variable*> variables_;  // as all_
};

}  // namespace ampc
