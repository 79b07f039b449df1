// In builds with AddressSanitizer a step may touch only that part of its run's arena where its operands and workspace lie: what a kernel
// reads or writes elsewhere in the arena is reported as it would be of memory of its own. Other builds compile to nothing.
#pragma once

#include "absl/base/config.h"
#include "runtime/plan/execution_plan.h"

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace ampc {

// Poisons the arena of a run from its first step to its last. Feeds are copied there before, fetches afterwards.
class PoisonedArena {
 public:
  PoisonedArena(const ExecutionPlan& plan, char* arena) : plan_(plan), arena_(arena) { Poison(arena_, plan_.arena_bytes); }
  ~PoisonedArena() { Unpoison(arena_, plan_.arena_bytes); }
  PoisonedArena(const PoisonedArena&) = delete;

  // Unpoisons the memory that the step may touch, as long as it lives.
  class Access {
   public:
    Access(const PoisonedArena& arena, const Step& step) : arena_(arena), step_(step) { arena_.ForEach(step_, Unpoison); }
    ~Access() { arena_.ForEach(step_, Poison); }
    Access(const Access&) = delete;

   private:
    const PoisonedArena& arena_;
    const Step& step_;
  };

 private:
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
  static void Unpoison(const char* p, int64_t bytes) { __asan_unpoison_memory_region(p, bytes); }
  static void Poison(const char* p, int64_t bytes) { __asan_poison_memory_region(p, bytes); }

  void ForEach(const Step& step, void (*visit)(const char*, int64_t)) const {
    for (int i = 0; i < step.inputs + step.outputs; ++i) Visit(plan_.operands[step.first + i], visit);
    Visit(step.workspace, visit);
  }
  void Visit(const Address& address, void (*visit)(const char*, int64_t)) const {
    if (address.kind == Address::kArena) visit(arena_ + address.offset, address.bytes);
  }
#else
  static void Unpoison(const char*, int64_t) {}
  static void Poison(const char*, int64_t) {}
  void ForEach(const Step&, void (*)(const char*, int64_t)) const {}
#endif

  const ExecutionPlan& plan_;
  char* const arena_;
};

}  // namespace ampc
