// The list of all passes: passes/all_passes.inc.
#include "passes/pass.h"

namespace ampc {

#define AMPC_PASS(function) PassInfo function();
#include "passes/all_passes.inc"
#undef AMPC_PASS

const PassRegistry& Passes() {
  static const PassRegistry* const kRegistry = [] {
    auto* registry = new PassRegistry;
    // A duplicate leaves the first entry; the registry test compares the number of entries with the list.
#define AMPC_PASS(function) registry->Add(function()).IgnoreError();
#include "passes/all_passes.inc"
#undef AMPC_PASS
    return registry;
  }();
  return *kRegistry;
}

}  // namespace ampc
