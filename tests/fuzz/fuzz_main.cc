// libFuzzer's entry: fuzz TARGET [libFuzzer's options] [folders]. Without a target it lists them.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/target.h"

namespace {
const ampc::fuzz::Target* chosen = nullptr;
}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc > 1) chosen = ampc::fuzz::FindTarget((*argv)[1]);
  if (chosen == nullptr) {
    for (const ampc::fuzz::Target& target : ampc::fuzz::AllTargets()) std::printf("%-12s %s\n", target.name, target.reads);
    std::exit(*argc > 1 ? 2 : 0);
  }
  // libFuzzer takes what is left; the program's own name stays the first.
  std::memmove(*argv + 1, *argv + 2, sizeof(char*) * static_cast<size_t>(*argc - 1));
  --*argc;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::Status status = chosen->run(absl::string_view(reinterpret_cast<const char*>(data), size));
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", chosen->name, status.ToString().c_str());
  std::abort();
}
