#include "selected.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int ampc_mutant = 0;
unsigned char* ampc_mutants_at = nullptr;

namespace {

// As many bytes as there are numbers. A program that is killed and the programs that a test starts leave theirs in the same file.
constexpr size_t kNumbers = size_t{1} << 24;

// Before any initialiser, which may be in a changed source.
__attribute__((constructor(101))) void Read() {
  if (const char* number = getenv("AMPC_MUTANT")) ampc_mutant = atoi(number);
  const char* path = getenv("AMPC_MUTANTS_AT");
  const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
  void* bytes = mmap(nullptr, kNumbers, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (bytes == MAP_FAILED) abort();
  ampc_mutants_at = static_cast<unsigned char*>(bytes);
  if (fd >= 0) close(fd);
}

}  // namespace
