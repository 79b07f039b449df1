#include "kernels/device/allocator.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/device/device.h"

namespace ampc {
namespace {

constexpr int64_t kUnit = 512;                      // sizes of blocks are multiples of it
constexpr int64_t kSmall = int64_t{1} << 20;        // requests up to it share segments, so that they do not split large blocks
constexpr int64_t kSegmentUnit = int64_t{2} << 20;  // what drivers hand out is a multiple of it anyhow

int64_t RoundUp(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

// A part of a segment, which is one allocation of the driver.
struct Block {
  int64_t bytes = 0;
  char* segment = nullptr;
  Stream* stream = nullptr;  // whose work may still use it; null: nobody's
  bool in_use = false;
  bool small = false;
};

using Blocks = std::map<char*, Block>;  // by address: neighbours are neighbours

}  // namespace

struct CachingAllocator::State {
  State(Device& d, int64_t l, AllocatorHooks h) : device(d), hooks(std::move(h)), limit(l) {}

  void AddFree(Blocks::iterator at) {
    at->second.in_use = false;
    free[{at->second.stream, at->second.small}].emplace(at->second.bytes, at->first);
  }
  void RemoveFree(Blocks::iterator at) {
    const auto pool = free.find({at->second.stream, at->second.small});
    pool->second.erase({at->second.bytes, at->first});
    if (pool->second.empty()) free.erase(pool);
  }

  Blocks::iterator Find(int64_t bytes, Stream& stream);
  void AdoptIdle(const Stream& stream);
  void Disown(const std::function<bool(const Block&)>& whose);
  absl::StatusOr<Blocks::iterator> Reserve(int64_t bytes);
  absl::StatusOr<Blocks::iterator> FindOrReserve(int64_t bytes, Stream& stream);
  void Take(Blocks::iterator at, int64_t bytes, Stream& stream);
  void GiveBack(Blocks::iterator at);
  std::vector<char*> TakeFreeSegments();
  absl::Status Exhausted(int64_t bytes, absl::string_view what) const;

  Device& device;
  const AllocatorHooks hooks;
  mutable std::mutex mutex;
  int64_t limit;
  AllocatorStats stats;
  Blocks blocks;
  std::map<std::pair<Stream*, bool>, std::set<std::pair<int64_t, char*>>> free;  // by stream and size class; best fit first
  std::map<char*, int64_t> segments;
};

// The smallest free block that is large enough and that `stream` may take; blocks.end() without one.
Blocks::iterator CachingAllocator::State::Find(int64_t bytes, Stream& stream) {
  std::pair<int64_t, char*> best = {0, nullptr};
  for (Stream* owner : {&stream, static_cast<Stream*>(nullptr)}) {
    const auto pool = free.find({owner, bytes <= kSmall});
    if (pool == free.end()) continue;
    const auto fit = pool->second.lower_bound({bytes, nullptr});
    if (fit != pool->second.end() && (best.second == nullptr || fit->first < best.first)) best = *fit;
  }
  return best.second == nullptr ? blocks.end() : blocks.find(best.second);
}

// Free blocks of streams that have nothing left to run become nobody's.
void CachingAllocator::State::AdoptIdle(const Stream& stream) {
  if (!hooks.idle) return;
  std::set<Stream*> idle;
  for (const auto& [key, pool] : free) {
    if (key.first != nullptr && key.first != &stream && !idle.contains(key.first) && hooks.idle(*key.first)) idle.insert(key.first);
  }
  Disown([&](const Block& block) { return !block.in_use && block.stream != nullptr && idle.contains(block.stream); });
}

// The memory that `whose` selects is nobody's from now on.
void CachingAllocator::State::Disown(const std::function<bool(const Block&)>& whose) {
  std::vector<char*> disowned;
  for (auto at = blocks.begin(); at != blocks.end(); ++at) {
    if (!whose(at->second)) continue;
    if (!at->second.in_use) RemoveFree(at);
    at->second.stream = nullptr;
    if (at->second.in_use) continue;
    AddFree(at);
    disowned.push_back(at->first);
  }
  for (char* data : disowned) {
    const auto at = blocks.find(data);
    if (at == blocks.end()) continue;  // merged into one before it
    RemoveFree(at);
    GiveBack(at);
  }
}

// A new segment as one free block, nobody's.
absl::StatusOr<Blocks::iterator> CachingAllocator::State::Reserve(int64_t bytes) {
  absl::Status why = absl::ResourceExhaustedError("over the limit");
  int64_t tried = 0;
  for (const int64_t size : {RoundUp(bytes, kSegmentUnit), bytes}) {
    if (size == tried || (limit > 0 && stats.reserved_bytes + size > limit)) continue;
    tried = size;
    const absl::StatusOr<void*> memory = device.AllocateRaw(size);
    if (memory.ok()) {
      char* const data = static_cast<char*>(*memory);
      segments[data] = size;
      stats.reserved_bytes += size;
      ++stats.driver_allocations;
      const auto at = blocks.emplace(data, Block{.bytes = size, .segment = data, .small = bytes <= kSmall}).first;
      AddFree(at);
      return at;
    }
    why = memory.status();
    if (!absl::IsResourceExhausted(why)) break;
  }
  return why;
}

absl::StatusOr<Blocks::iterator> CachingAllocator::State::FindOrReserve(int64_t bytes, Stream& stream) {
  auto at = Find(bytes, stream);
  if (at != blocks.end()) return at;
  AdoptIdle(stream);
  at = Find(bytes, stream);
  if (at != blocks.end()) return at;
  return Reserve(bytes);
}

void CachingAllocator::State::Take(Blocks::iterator at, int64_t bytes, Stream& stream) {
  RemoveFree(at);
  Block& block = at->second;
  if (block.bytes > bytes) {
    Block rest = block;
    rest.bytes -= bytes;
    block.bytes = bytes;
    AddFree(blocks.emplace_hint(std::next(at), at->first + bytes, rest));
  }
  block.stream = &stream;
  block.in_use = true;
  stats.in_use_bytes += bytes;
  stats.peak_in_use_bytes = std::max(stats.peak_in_use_bytes, stats.in_use_bytes);
}

// A block that is in no pool becomes free, together with its free neighbours of the same stream and nobody's.
void CachingAllocator::State::GiveBack(Blocks::iterator at) {
  const auto merges = [&](Blocks::iterator other) {
    const Block &a = at->second, &b = other->second;
    return !b.in_use && a.segment == b.segment && (a.stream == b.stream || a.stream == nullptr || b.stream == nullptr);
  };
  const auto merge = [&](Blocks::iterator first, Blocks::iterator second, Blocks::iterator pooled) {
    RemoveFree(pooled);
    first->second.bytes += second->second.bytes;
    if (first->second.stream == nullptr) first->second.stream = second->second.stream;
    blocks.erase(second);
    at = first;
  };
  if (const auto next = std::next(at); next != blocks.end() && merges(next)) merge(at, next, next);
  if (at != blocks.begin() && merges(std::prev(at))) merge(std::prev(at), at, std::prev(at));
  AddFree(at);
}

// Segments without a block in use, which are the caller's to free.
std::vector<char*> CachingAllocator::State::TakeFreeSegments() {
  std::vector<char*> taken;
  for (auto segment = segments.begin(); segment != segments.end();) {
    const auto first = blocks.find(segment->first);
    const auto end = blocks.lower_bound(segment->first + segment->second);
    if (std::any_of(first, end, [](const auto& b) { return b.second.in_use; })) {
      ++segment;
      continue;
    }
    for (auto at = first; at != end; ++at) RemoveFree(at);
    blocks.erase(first, end);
    stats.reserved_bytes -= segment->second;
    taken.push_back(segment->first);
    segment = segments.erase(segment);
  }
  return taken;
}

absl::Status CachingAllocator::State::Exhausted(int64_t bytes, absl::string_view what) const {
  const std::string bound =
      limit > 0 ? absl::StrCat("the limit is ", limit, " bytes") : absl::StrCat("the device has ", device.info().memory_bytes, " bytes");
  return absl::ResourceExhaustedError(absl::StrCat(what, ": no ", bytes, " bytes of memory are left on ", device.name(), ", where ",
                                                   stats.in_use_bytes, " bytes are in use, ", stats.reserved_bytes - stats.in_use_bytes,
                                                   " more lie between them, and ", bound));
}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(allocator_, other.allocator_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) allocator_->Free(data_);
}

CachingAllocator::CachingAllocator(Device& device, int64_t limit_bytes, AllocatorHooks hooks)
    : state_(std::make_unique<State>(device, limit_bytes, std::move(hooks))) {}

CachingAllocator::~CachingAllocator() {
  for (const auto& [data, bytes] : state_->segments) state_->device.FreeRaw(data);
}

absl::StatusOr<DeviceBuffer> CachingAllocator::Allocate(int64_t bytes, Stream& stream, absl::string_view what) {
  if (bytes < 0) return InternalError(absl::StrCat(what, ": ", bytes, " bytes of memory are asked for"));
  DeviceBuffer buffer;
  if (bytes == 0) return buffer;
  State& s = *state_;
  if (bytes > int64_t{1} << 60) return s.Exhausted(bytes, what);
  const int64_t size = RoundUp(bytes, kUnit);
  std::unique_lock<std::mutex> lock(s.mutex);
  absl::StatusOr<Blocks::iterator> at = s.FindOrReserve(size, stream);
  if (!at.ok() && absl::IsResourceExhausted(at.status())) {
    const std::vector<char*> unused = s.TakeFreeSegments();
    lock.unlock();  // waits for the device
    for (char* data : unused) s.device.FreeRaw(data);
    lock.lock();
    at = s.FindOrReserve(size, stream);
  }
  if (!at.ok()) return absl::IsResourceExhausted(at.status()) ? s.Exhausted(bytes, what) : Annotate(at.status(), what);
  s.Take(*at, size, stream);
  buffer.allocator_ = this;
  buffer.data_ = (*at)->first;
  buffer.bytes_ = bytes;
  return buffer;
}

void CachingAllocator::SetLimit(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->limit = bytes;
}

void CachingAllocator::ReleaseCached() {
  std::vector<char*> unused;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    unused = state_->TakeFreeSegments();
  }
  for (char* data : unused) state_->device.FreeRaw(data);
}

void CachingAllocator::Forget(Stream& stream) {
  State& s = *state_;
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.Disown([&](const Block& block) { return block.stream == &stream; });
}

AllocatorStats CachingAllocator::stats() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->stats;
}

void CachingAllocator::Free(void* data) {
  State& s = *state_;
  const std::lock_guard<std::mutex> lock(s.mutex);
  const auto at = s.blocks.find(static_cast<char*>(data));
  s.stats.in_use_bytes -= at->second.bytes;
  if (s.hooks.freed && at->second.stream != nullptr) s.hooks.freed(*at->second.stream, data, at->second.bytes);
  s.GiveBack(at);
}

}  // namespace ampc
