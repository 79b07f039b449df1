#include "runtime/exec/scope_mirror.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/aligned.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "runtime/exec/values.h"
#include "runtime/plan/device_constants.h"

namespace ampc {
namespace {

constexpr int64_t kSmallBytes = 64 << 10;
constexpr int kUploads = 16;  // small ones on their way

int64_t BytesOf(const ScopeMirror::Copy& copy) {
  return copy.entry->variable->value.num_elements() * static_cast<int64_t>(SizeOf(copy.dtype));
}

// One that has the newest value.
ScopeMirror::Copy* Newest(const ScopeMirror::Entry& entry) {
  const auto current = [](const std::unique_ptr<ScopeMirror::Copy>& copy) { return copy->current; };
  const auto at = std::find_if(entry.copies.begin(), entry.copies.end(), current);
  return at == entry.copies.end() ? nullptr : at->get();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ScopeMirror>> ScopeMirror::Create(std::shared_ptr<Device> device) {
  std::unique_ptr<ScopeMirror> mirror(new ScopeMirror);
  mirror->device_ = std::move(device);
  AMPC_ASSIGN_OR_RETURN(mirror->stream_, mirror->device_->NewStream());
  AMPC_ASSIGN_OR_RETURN(mirror->small_, PinnedMemory::Allocate(*mirror->device_, kSmallBytes));
  mirror->uploads_.emplace(*mirror->device_, kUploads);
  return mirror;
}

ScopeMirror::~ScopeMirror() {
  if (stream_ != nullptr) stream_->Synchronize().IgnoreError();  // nothing may still write what goes
}

absl::StatusOr<ScopeMirror::Copy*> ScopeMirror::Bind(const std::string& name, Scope::Variable& variable, DType dtype) {
  Entry& entry = entries_[&variable];
  entry.variable = &variable;
  for (const std::unique_ptr<Copy>& copy : entry.copies) {
    if (copy->dtype == dtype) return copy.get();
  }
  auto copy = std::make_unique<Copy>();
  copy->entry = &entry;
  copy->dtype = dtype;
  AMPC_ASSIGN_OR_RETURN(copy->memory, device_->allocator().Allocate(BytesOf(*copy), *stream_, absl::StrCat("variable '", name, "'")));
  entry.copies.push_back(std::move(copy));
  return entry.copies.back().get();
}

absl::Status ScopeMirror::UploadOne(const Copy& copy) {
  const HostTensor& value = copy.entry->variable->value;
  const int64_t bytes = BytesOf(copy);
  if (bytes == 0) return absl::OkStatus();
  if (bytes > kSmallBytes) return UploadDeclared(value, copy.dtype, copy.memory.data(), *stream_);
  AMPC_ASSIGN_OR_RETURN(const PinnedRing::Slot slot, uploads_->Acquire(bytes));
  ToDeclared(value, copy.dtype, slot.data);
  AMPC_RETURN_IF_ERROR(stream_->CopyToDevice(copy.memory.data(), slot.data, bytes));
  return uploads_->Release(slot, *stream_);
}

absl::Status ScopeMirror::Upload(absl::Span<Copy* const> copies) {
  AMPC_RETURN_IF_ERROR(std::exchange(error_, absl::OkStatus()));
  for (Copy* copy : copies) {
    if (copy->current) continue;
    const Scope::Variable* variable = copy->entry->variable;
    AMPC_RETURN_IF_ERROR(Download({&variable, 1}));
    AMPC_RETURN_IF_ERROR(UploadOne(*copy));
    copy->current = true;
  }
  return absl::OkStatus();
}

absl::Status ScopeMirror::Download(absl::Span<const Scope::Variable* const> variables) {
  struct Pending {
    Entry* entry;
    DType dtype;
    int64_t offset;
  };
  std::vector<Pending> pending;
  int64_t used = 0;
  for (const Scope::Variable* variable : variables) {
    const auto at = entries_.find(variable);
    if (at == entries_.end() || at->second.host_current) continue;
    Entry& entry = at->second;
    const Copy& from = *Newest(entry);
    const int64_t bytes = Aligned(BytesOf(from));
    entry.host_current = true;
    if (bytes == 0) continue;
    if (used + bytes > kSmallBytes) {
      AMPC_RETURN_IF_ERROR(DownloadDeclared(from.memory.data(), from.dtype, entry.variable->value, *stream_));
      continue;
    }
    AMPC_RETURN_IF_ERROR(stream_->CopyToHost(small_.at(used), from.memory.data(), BytesOf(from)));
    pending.push_back({&entry, from.dtype, used});
    used += bytes;
  }
  if (pending.empty()) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(stream_->Synchronize());
  for (const Pending& p : pending) FromDeclared(small_.at(p.offset), p.dtype, p.entry->variable->value);
  return absl::OkStatus();
}

absl::Status ScopeMirror::DownloadAll() {
  std::vector<const Scope::Variable*> all;
  for (const auto& [variable, entry] : entries_) all.push_back(variable);
  return Download(all);
}

void ScopeMirror::Written(absl::Span<Copy* const> copies) {
  for (Copy* copy : copies) {
    copy->entry->host_current = false;
    for (const std::unique_ptr<Copy>& other : copy->entry->copies) other->current = false;
    copy->current = true;
  }
}

void ScopeMirror::HostWritten(const Scope::Variable& variable) {
  const auto at = entries_.find(&variable);
  if (at == entries_.end()) return;
  at->second.host_current = true;
  for (const std::unique_ptr<Copy>& copy : at->second.copies) copy->current = false;
}

void MirroredStates::Add(ScopeMirror::Copy* copy, bool written) {
  all_.push_back(copy);
  variables_.push_back(copy->entry->variable);
  if (written) written_.push_back(copy);
}

void MirroredStates::AfterHostRun() const {
  for (ScopeMirror::Copy* copy : written_) mirror_->HostWritten(*copy->entry->variable);
}

}  // namespace ampc
