// The order in which a host does what a device does in any order, chosen by tests: what depends on the order then shows in the results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ampc::cuda {

struct HostSchedule {
  enum class Order : uint8_t { kForward, kReversed, kRandom };
  Order order = Order::kForward;  // of the items of ForEach, of teams, and of a real team's threads between two barriers
  uint64_t seed = 0;              // of kRandom
  int threads = 1;                // of the host, which share items, and teams of one
  bool real_teams = false;        // teams of as many threads as a device gives them, and not of one
};

// For all launches that run from now on; called while none runs.
void SetHostSchedule(const HostSchedule& schedule);
const HostSchedule& TheHostSchedule();

// f(i) for each i in [0, n), by the schedule.
void RunInSchedule(int64_t n, const std::function<void(int64_t)>& f);

// The calls of a real team's threads. A thread's writes to shared memory are its own until all threads have come to a barrier that makes
// them visible: what is read too early is not there, as it may be on a device, and what two threads write is a fault.
class RealTeam {
 public:
  virtual ~RealTeam() = default;
  // Waits for the others, who must have come to the same call with the same n.
  virtual void Wait(const char* call, int64_t n, bool makes_visible) = 0;
  virtual void* Scratch(int64_t bytes) = 0;  // the same for all threads until the next call
};

// f(team, rank, shared memory, t) for each of `size` threads and each t in [0, teams), by the schedule.
void RunRealTeams(int64_t teams, int size, int shared_bytes,
                  const std::function<void(RealTeam& team, int rank, void* shared, int64_t t)>& f);

// The first thing that a real team did and a device forbids or leaves open, since the last call; "" for nothing.
std::string TakeTeamFault();

}  // namespace ampc::cuda
