#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "kernels/cuda/launch/host_schedule.h"
#include "kernels/device/emulated/emulated_device.h"
#include "tests/cuda/device_under_test.h"
#include "tests/testlib/redzone_memory.h"

namespace ampc::testing {
namespace {

// $AMPC_EMULATED: how the device does what is open, in words: reversed, random:SEED, threads:N, teams (as large as a device's), displaced
// (no tensor is aligned).
void UseEnvironment() {
  const char* const words = std::getenv("AMPC_EMULATED");
  cuda::HostSchedule schedule;
  for (const absl::string_view word : absl::StrSplit(words == nullptr ? "" : words, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits(':', 1));
    bool known = true;
    if (word == "reversed") {
      schedule.order = cuda::HostSchedule::Order::kReversed;
    } else if (parts.first == "random") {
      schedule.order = cuda::HostSchedule::Order::kRandom;
      known = absl::SimpleAtoi(parts.second, &schedule.seed);
    } else if (parts.first == "threads") {
      known = absl::SimpleAtoi(parts.second, &schedule.threads) && schedule.threads > 0;
    } else if (word == "teams") {
      schedule.real_teams = true;
    } else if (word == "displaced") {
      RedzoneMemory::Displace();
    } else {
      known = false;
    }
    if (known) continue;
    std::fprintf(stderr, "AMPC_EMULATED: '%s' is not a word that is known\n", std::string(word).c_str());
    std::exit(2);
  }
  cuda::SetHostSchedule(schedule);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Device>> DeviceUnderTest() {
  UseEnvironment();
  return NewEmulatedDevice(0);
}

}  // namespace ampc::testing
