#include "tests/testlib/guarded_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc::testing {
namespace {

constexpr int64_t kGuard = 256;
constexpr int kPoison = 0xcd;

bool displaces = false;

}  // namespace

void GuardedMemory::Displace() { displaces = true; }
bool GuardedMemory::Displaces() { return displaces; }

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : stream_(other.stream_),
      bytes_(other.bytes_),
      memory_(std::exchange(other.memory_, nullptr)),
      data_(std::exchange(other.data_, nullptr)) {}

GuardedMemory::~GuardedMemory() { stream_->device().FreeRaw(memory_); }

absl::Status GuardedMemory::Allocate(int64_t bytes, int64_t element) {
  bytes_ = bytes;
  const int64_t before = displaces && element < 16 ? element : 0;
  AMPC_ASSIGN_OR_RETURN(memory_, stream_->device().AllocateRaw(before + bytes + kGuard));
  data_ = static_cast<char*>(memory_) + before;
  return stream_->FillBytes(data_, kPoison, bytes + kGuard);
}

absl::Status GuardedMemory::Write(const void* from) {
  AMPC_RETURN_IF_ERROR(stream_->CopyToDevice(data_, from, bytes_));
  return stream_->Synchronize();
}

absl::Status GuardedMemory::Read(void* to) const {
  AMPC_RETURN_IF_ERROR(stream_->CopyToHost(to, data_, bytes_));
  return stream_->Synchronize();
}

absl::Status GuardedMemory::CheckGuard(absl::string_view what) const {
  std::vector<unsigned char> guard(kGuard);
  AMPC_RETURN_IF_ERROR(stream_->CopyToHost(guard.data(), data_ + bytes_, kGuard));
  AMPC_RETURN_IF_ERROR(stream_->Synchronize());
  const bool intact = std::all_of(guard.begin(), guard.end(), [](unsigned char b) { return b == kPoison; });
  return intact ? absl::OkStatus() : InternalError(absl::StrCat("the kernel wrote beyond ", what));
}

}  // namespace ampc::testing
