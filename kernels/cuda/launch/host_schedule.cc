#include "kernels/cuda/launch/host_schedule.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

// Goes on where `to` was left, and leaves `*from` for a later call: what a function has to keep (System V, x86-64) lies on the stack that
// is left. (A context of the C library does the same and asks the kernel twice.)
extern "C" void AmpcSwitchStack(void** from, void* to);
__asm__(R"(
.text
.type AmpcSwitchStack, @function
AmpcSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size AmpcSwitchStack, .-AmpcSwitchStack
)");

namespace ampc::cuda {
namespace {

HostSchedule the_schedule;
std::mutex fault_mutex;
std::string the_fault;  // under the mutex

void Fault(std::string what) {
  const std::lock_guard<std::mutex> lock(fault_mutex);
  if (the_fault.empty()) the_fault = std::move(what);
}

// Visits [0, n) in the order of the schedule, every `step`th place of it from `first` on.
template <class F>
void Visit(int64_t n, int64_t first, int64_t step, const F& f) {
  const HostSchedule& s = the_schedule;
  // A stride that has no factor in common with n comes to each number once.
  int64_t stride = n < 3 ? 1 : 1 + static_cast<int64_t>((s.seed * 2654435761u + 40503) % static_cast<uint64_t>(n - 1));
  while (std::gcd(stride, n) != 1) ++stride;
  int64_t random = n == 0 ? 0 : static_cast<int64_t>(s.seed % static_cast<uint64_t>(n));
  for (int64_t place = 0; place < n; ++place) {
    if (place % step == first)
      f(s.order == HostSchedule::Order::kForward ? place : s.order == HostSchedule::Order::kReversed ? n - 1 - place : random);
    random = (random + stride) % n;
  }
}

constexpr size_t kMostThreads = 1024;
constexpr size_t kStackBytes = size_t{256} << 10;
constexpr unsigned char kPoison = 0xa5;

// A team whose threads are fibers of one host thread. One runs until it waits; when all wait, all go on.
class Fibers : public RealTeam {
 public:
  using Body = std::function<void(RealTeam&, int, void*, int64_t)>;
  Fibers(int size, int shared_bytes, const Body& body)
      : body_(body),
        stacks_(Stacks()),
        fibers_(static_cast<size_t>(size)),
        shared_bytes_(static_cast<size_t>(shared_bytes)),
        shared_(shared_bytes_ / sizeof(std::max_align_t) + 1),
        settled_(shared_bytes_),
        writer_(shared_bytes_) {}
  void Run(int64_t team) {
    team_ = team;
    std::fill(settled_.begin(), settled_.end(), kPoison);
    std::memset(shared_.data(), kPoison, shared_bytes_);
    for (size_t i = 0; i < fibers_.size(); ++i) Start(fibers_[i], i);
    running_team_ = this;
    for (bool any = true; any;) {
      Visit(static_cast<int64_t>(fibers_.size()), 0, 1, [&](int64_t rank) {
        if (!fibers_[static_cast<size_t>(rank)].done) Resume(static_cast<size_t>(rank));
      });
      any = Arrived();
    }
  }

  void Wait(const char* call, int64_t n, bool makes_visible) override {
    Fiber& fiber = fibers_[running_];
    fiber.call = call;
    fiber.n = n;
    fiber.makes_visible = makes_visible;
    AmpcSwitchStack(&fiber.stack, scheduler_);
  }
  void* Scratch(int64_t bytes) override {
    const size_t needed = static_cast<size_t>(bytes) / sizeof(std::max_align_t) + 1;
    if (scratch_.size() < needed) scratch_.resize(needed);
    return scratch_.data();
  }

 private:
  struct Fiber {
    void* stack = nullptr;  // where it was left
    bool done = false;
    const char* call = nullptr;  // in which it waits
    int64_t n = 0;
    bool makes_visible = false;
    std::vector<std::pair<size_t, unsigned char>> written;  // to shared memory, and nobody else's yet
  };

  // Of a host thread, for all of its teams.
  static char* Stacks() {
    constexpr size_t kBytes = kMostThreads * kStackBytes;
    static thread_local char* const stacks = [] {
      void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
      if (memory == MAP_FAILED) std::abort();  // of a test
      return static_cast<char*>(memory);
    }();
    return stacks;
  }

  // A stack on which the fiber begins with Enter.
  void Start(Fiber& fiber, size_t rank) {
    fiber = Fiber();
    auto* const top = reinterpret_cast<void**>(stacks_ + (rank + 1) * kStackBytes) - 2;
    *top = reinterpret_cast<void*>(&Enter);  // where the switch returns to, with the stack as behind a call
    fiber.stack = top - 6;
  }
  static void Enter() {
    Fibers& self = *running_team_;
    self.body_(self, static_cast<int>(self.running_), self.shared_bytes_ == 0 ? nullptr : self.shared_.data(), self.team_);
    self.fibers_[self.running_].done = true;
    AmpcSwitchStack(&self.fibers_[self.running_].stack, self.scheduler_);
  }

  unsigned char* shared() { return reinterpret_cast<unsigned char*>(shared_.data()); }

  // The fiber sees what is settled and what it wrote itself.
  void Resume(size_t rank) {
    Fiber& fiber = fibers_[rank];
    for (const auto& [at, byte] : fiber.written) shared()[at] = byte;
    running_ = rank;
    AmpcSwitchStack(&scheduler_, fiber.stack);
    fiber.written.clear();
    if (std::memcmp(shared(), settled_.data(), shared_bytes_) == 0) return;
    for (size_t at = 0; at < shared_bytes_; ++at) {
      if (shared()[at] == settled_[at]) continue;
      fiber.written.emplace_back(at, shared()[at]);
      shared()[at] = settled_[at];
    }
  }

  // The step that is taken when no fiber can go on before all others; true if there is more to do.
  bool Arrived() {
    const auto waits = [](const Fiber& f) { return !f.done; };
    const auto first = std::find_if(fibers_.begin(), fibers_.end(), waits);
    if (first == fibers_.end()) return false;
    for (size_t i = 0; i < fibers_.size(); ++i) {
      const Fiber& f = fibers_[i];
      if (f.done) {
        Fault(absl::StrCat("thread ", i, " of a team has ended, another one waits in ", first->call));
      } else if (f.call != first->call || f.n != first->n) {
        Fault(absl::StrCat("thread ", i, " of a team waits in ", f.call, " of ", f.n, ", another one in ", first->call, " of ", first->n));
      }
    }
    if (first->makes_visible) Settle();
    return true;
  }
  void Settle() {
    if (shared_bytes_ == 0) return;
    std::fill(writer_.begin(), writer_.end(), -1);
    for (size_t i = 0; i < fibers_.size(); ++i) {
      for (const auto& [at, byte] : fibers_[i].written) {
        if (writer_[at] >= 0)
          Fault(absl::StrCat("threads ", writer_[at], " and ", i, " of a team write byte ", at, " of its shared memory"));
        writer_[at] = static_cast<int>(i);
        settled_[at] = shared()[at] = byte;
      }
      fibers_[i].written.clear();
    }
  }

  static inline thread_local Fibers* running_team_ = nullptr;
  const Body& body_;
  char* const stacks_;
  std::vector<Fiber> fibers_;
  void* scheduler_ = nullptr;  // where the one that runs returns to
  size_t running_ = 0;
  int64_t team_ = 0;
  const size_t shared_bytes_;
  std::vector<std::max_align_t> shared_, scratch_;
  std::vector<unsigned char> settled_;  // shared memory as all threads see it
  std::vector<int> writer_;             // of each byte since the last barrier, while that is passed
};

}  // namespace

void SetHostSchedule(const HostSchedule& schedule) { the_schedule = schedule; }
const HostSchedule& TheHostSchedule() { return the_schedule; }

void RunInSchedule(int64_t n, const std::function<void(int64_t)>& f) {
  std::vector<std::thread> others;
  for (int k = 1; k < the_schedule.threads; ++k) others.emplace_back([&, k] { Visit(n, k, the_schedule.threads, f); });
  Visit(n, 0, the_schedule.threads, f);
  for (std::thread& thread : others) thread.join();
}

void RunRealTeams(int64_t teams, int size, int shared_bytes, const std::function<void(RealTeam&, int, void*, int64_t)>& f) {
  Fibers fibers(size, shared_bytes, f);
  Visit(teams, 0, 1, [&](int64_t t) { fibers.Run(t); });
}

std::string TakeTeamFault() {
  const std::lock_guard<std::mutex> lock(fault_mutex);
  return std::exchange(the_fault, std::string());
}

}  // namespace ampc::cuda
