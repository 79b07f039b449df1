#include "runtime/exec/poisoned_arena.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/base/config.h"
#include "runtime/plan/execution_plan.h"

namespace ampc {
namespace {

#ifdef ABSL_HAVE_ADDRESS_SANITIZER

Address At(int64_t offset, int64_t bytes) {
  Address address;
  address.kind = Address::kArena;
  address.offset = offset;
  address.bytes = bytes;
  return address;
}

// The offsets of an arena of 256 bytes that may be touched, as [first, last) after each other.
std::vector<int> OpenIn(const char* arena) {
  std::vector<int> bounds;
  bool open = false;
  for (int i = 0; i <= 256; ++i) {
    const bool now = i < 256 && __asan_address_is_poisoned(arena + i) == 0;
    if (now != open) bounds.push_back(i);
    open = now;
  }
  return bounds;
}

TEST(PoisonedArena, AStepTouchesItsOperandsAndItsWorkspace) {
  ExecutionPlan plan;
  plan.arena_bytes = 256;
  plan.operands = {At(0, 64), Address(), At(64, 12), At(64, 12), At(192, 4)};
  Step reads, works;
  reads.first = 0;
  reads.inputs = 2;
  reads.outputs = 1;
  works.first = 3;
  works.inputs = 1;
  works.outputs = 1;
  works.workspace = At(128, 1);

  alignas(64) char arena[256];
  {
    const PoisonedArena poisoned(plan, arena);
    EXPECT_TRUE(OpenIn(arena).empty());
    {
      const PoisonedArena::Access access(poisoned, reads);
      EXPECT_EQ(OpenIn(arena), (std::vector<int>{0, 76}));
    }
    EXPECT_TRUE(OpenIn(arena).empty());
    const PoisonedArena::Access access(poisoned, works);
    EXPECT_EQ(OpenIn(arena), (std::vector<int>{64, 76, 128, 129, 192, 196}));
  }
  EXPECT_EQ(OpenIn(arena), (std::vector<int>{0, 256}));
}

#else

TEST(PoisonedArena, AStepTouchesItsOperandsAndItsWorkspace) { GTEST_SKIP() << "only builds with --config=asan poison arenas"; }

#endif

}  // namespace
}  // namespace ampc
