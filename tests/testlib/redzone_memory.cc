#include "tests/testlib/redzone_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc::testing {
namespace {

constexpr int64_t kRedzone = 256;
constexpr int kPoison = 0xcd;

bool displaces = false;

}  // namespace

void RedzoneMemory::Displace() { displaces = true; }
bool RedzoneMemory::Displaces() { return displaces; }

RedzoneMemory::RedzoneMemory(RedzoneMemory&& other) noexcept
    : stream_(other.stream_),
      bytes_(other.bytes_),
      memory_(std::exchange(other.memory_, nullptr)),
      data_(std::exchange(other.data_, nullptr)) {}

RedzoneMemory::~RedzoneMemory() { stream_->device().FreeRaw(memory_); }

absl::Status RedzoneMemory::Allocate(int64_t bytes, int64_t element) {
  bytes_ = bytes;
  const int64_t before = displaces && element < 16 ? element : 0;
  AMPC_ASSIGN_OR_RETURN(memory_, stream_->device().AllocateRaw(before + bytes + kRedzone));
  data_ = static_cast<char*>(memory_) + before;
  return stream_->FillBytes(data_, kPoison, bytes + kRedzone);
}

absl::Status RedzoneMemory::Write(const void* from) {
  AMPC_RETURN_IF_ERROR(stream_->CopyToDevice(data_, from, bytes_));
  return stream_->Synchronize();
}

absl::Status RedzoneMemory::Read(void* to) const {
  AMPC_RETURN_IF_ERROR(stream_->CopyToHost(to, data_, bytes_));
  return stream_->Synchronize();
}

absl::Status RedzoneMemory::CheckRedzone(absl::string_view what) const {
  std::vector<unsigned char> redzone(kRedzone);
  AMPC_RETURN_IF_ERROR(stream_->CopyToHost(redzone.data(), data_ + bytes_, kRedzone));
  AMPC_RETURN_IF_ERROR(stream_->Synchronize());
  const bool intact = std::all_of(redzone.begin(), redzone.end(), [](unsigned char b) { return b == kPoison; });
  return intact ? absl::OkStatus() : InternalError(absl::StrCat("the kernel wrote beyond ", what));
}

}  // namespace ampc::testing
