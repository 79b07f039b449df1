#include "tests/testlib/read_only_feeds.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc::testing {

ReadOnlyFeeds::~ReadOnlyFeeds() {
  for (const Pages& pages : pages_) munmap(pages.begin, pages.bytes);
}

absl::StatusOr<const void*> ReadOnlyFeeds::Place(const HostTensor& value) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t readable = (value.size_bytes() + page - 1) / page * page;
  void* const begin = mmap(nullptr, readable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) return InternalError("no memory for a feed");
  pages_.push_back({begin, readable + page});
  char* const end = static_cast<char*>(begin) + readable;
  std::memcpy(end - value.size_bytes(), value.data(), value.size_bytes());
  if (mprotect(begin, readable, PROT_READ) != 0 || mprotect(end, page, PROT_NONE) != 0) return InternalError("memory is not protected");
  return end - value.size_bytes();
}

absl::StatusOr<ReadOnlyFeeds> ReadOnlyFeeds::Of(const TensorMap& feeds) {
  ReadOnlyFeeds out;
  for (const auto& [name, value] : feeds) {
    const void* data = nullptr;
    if (value.size_bytes() > 0) {
      AMPC_ASSIGN_OR_RETURN(data, out.Place(value));
    }
    AMPC_ASSIGN_OR_RETURN(out.feeds_[name], HostTensor::Borrow(value.dtype(), value.dims(), data));
  }
  return out;
}

}  // namespace ampc::testing
