#include "kernels/lasting_tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/base/aligned.h"
#include "graph/base/mutex.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

constexpr int64_t kLeast = 64 << 10;
constexpr uintptr_t kPage = 4 << 10, kHugePage = 2 << 20, kRegion = 32 << 20;

// The address sanitizer sees what lies beside a tensor only where each has memory of its own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AMPC_APART true
#endif
#endif
#if !defined(AMPC_APART)
#define AMPC_APART false
#endif

uintptr_t RoundUp(uintptr_t n, uintptr_t to) { return (n + to - 1) / to * to; }

// Addresses for several tensors, one behind the other.
class SharedPages {
 public:
  // Null where the system has none.
  static std::shared_ptr<SharedPages> Map(uintptr_t bytes) {
    const uintptr_t size = RoundUp(bytes, kHugePage) + kHugePage;
    void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? nullptr : std::shared_ptr<SharedPages>(new SharedPages(mapped, size));
  }
  ~SharedPages() { munmap(mapped_, size_); }

  // Null where there is no room left.
  void* Take(uintptr_t bytes) {
    if (bytes > end_ - next_) return nullptr;
    void* const data = reinterpret_cast<void*>(next_);
    next_ += RoundUp(bytes, kAlignment);
    return data;
  }

 private:
  // A model of less than a large page takes small ones.
  SharedPages(void* mapped, uintptr_t size) : mapped_(mapped), size_(size), next_(reinterpret_cast<uintptr_t>(mapped)), end_(next_ + size) {
    const uintptr_t huge = RoundUp(next_ + 1, kHugePage);
    madvise(reinterpret_cast<void*>(huge), end_ - huge, MADV_HUGEPAGE);  // refused on some systems, at no harm
  }

  void* const mapped_;
  const uintptr_t size_;
  uintptr_t next_;
  const uintptr_t end_;
};

// A tensor in a region, which it keeps.
struct Lasting {
  std::shared_ptr<SharedPages> region;
  HostTensor tensor;

  ~Lasting() {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(tensor.data());
    const uintptr_t first = RoundUp(begin, kPage), last = (begin + tensor.size_bytes()) / kPage * kPage;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
};

// The region that has room, and the memory.
std::pair<std::shared_ptr<SharedPages>, void*> Take(uintptr_t bytes) {
  static Mutex& mutex = *new Mutex;
  static std::weak_ptr<SharedPages>& latest = *new std::weak_ptr<SharedPages>;
  const MutexLock lock(mutex);
  std::shared_ptr<SharedPages> region = latest.lock();
  if (region != nullptr) {
    if (void* const data = region->Take(bytes); data != nullptr) return {std::move(region), data};
  }
  region = SharedPages::Map(std::max(bytes, kRegion));
  if (region == nullptr) return {nullptr, nullptr};
  void* const data = region->Take(bytes);
  if (bytes < kRegion) latest = region;
  return {std::move(region), data};
}

}  // namespace

absl::StatusOr<std::shared_ptr<HostTensor>> CreateLasting(DType dtype, absl::Span<const int64_t> dims) {
  const auto own = [&]() -> absl::StatusOr<std::shared_ptr<HostTensor>> {
    AMPC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::CreateUninitialized(dtype, dims));
    return std::make_shared<HostTensor>(std::move(tensor));
  };
  const std::optional<int64_t> bytes = NumBytes(dtype, dims);
  if (AMPC_APART || !bytes.has_value() || *bytes < kLeast) return own();
  auto [region, data] = Take(static_cast<uintptr_t>(*bytes));
  if (data == nullptr) return own();
  auto lasting = std::make_shared<Lasting>();
  AMPC_ASSIGN_OR_RETURN(lasting->tensor, HostTensor::BorrowMutable(dtype, dims, data));
  lasting->region = std::move(region);
  return std::shared_ptr<HostTensor>(lasting, &lasting->tensor);
}

}  // namespace ampc
