#include "graph/base/signal_cleanup.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace ampc {
namespace {

// Nothing of these is freed: a handler in another thread may look at them at any time.
struct Entry {
  std::atomic<const char*> path{nullptr};
  Entry* next = nullptr;
};
std::atomic<Entry*> entries{nullptr};    // as many as files were written at a time
std::atomic<Entry*> forgotten{nullptr};  // what their paths were

void Push(const char* path, std::atomic<Entry*>* list) {
  auto* entry = new Entry;
  entry->path = path;
  entry->next = list->load();
  while (!list->compare_exchange_weak(entry->next, entry)) {
  }
}

std::atomic<int> undisturbed{0};  // DeferSignals that live
std::atomic<int> waiting{0};      // the signal that came meanwhile

}  // namespace

void RemoveOnSignal(const std::string& path) {
  const char* copy = strdup(path.c_str());
  for (Entry* entry = entries.load(); entry != nullptr; entry = entry->next) {
    const char* none = nullptr;
    if (entry->path.compare_exchange_strong(none, copy)) return;
  }
  Push(copy, &entries);
}

void KeepOnSignal(const std::string& path) {
  for (Entry* entry = entries.load(); entry != nullptr; entry = entry->next) {
    const char* known = entry->path.load();
    if (known != nullptr && path == known && entry->path.compare_exchange_strong(known, nullptr)) return Push(known, &forgotten);
  }
}

DeferSignals::DeferSignals() { ++undisturbed; }

DeferSignals::~DeferSignals() {
  if (--undisturbed == 0 && waiting.load() != 0) EndBySignal(waiting.exchange(0));
}

void EndBySignal(int number) {
  if (undisturbed.load() > 0) {
    waiting = number;
    // The last one may have died in between.
    if (undisturbed.load() > 0 || waiting.exchange(0) == 0) return;
  }
  for (Entry* entry = entries.load(); entry != nullptr; entry = entry->next) {
    if (const char* path = entry->path.load(); path != nullptr) unlink(path);
  }
  // Folders are empty now.
  for (Entry* entry = entries.load(); entry != nullptr; entry = entry->next) {
    if (const char* path = entry->path.exchange(nullptr); path != nullptr) rmdir(path);
  }
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(number, &usual, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  raise(number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  _exit(128 + number);  // it is raised above
}

}  // namespace ampc
