#include "tools/cli/status_line.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace ampc::status_line {
namespace {

constexpr absl::string_view kWipe = "\r\033[K";
constexpr size_t kWidth = 79;

struct Line {
  char bytes[kWipe.size() + kWidth];
  size_t size = 0;
};

Line lines[2];  // one is drawn while the other is written
int written = 0;
std::atomic<const Line*> drawn{nullptr};  // null: none
std::atomic<const Line*> paused{nullptr};
std::atomic<bool> visible{false};

// Calls only what a signal handler may.
void Draw(int) {
  const Line* line = drawn.load();
  if (line == nullptr) return;
  const int error = errno;
  visible = true;
  (void)!write(STDERR_FILENO, line->bytes, line->size);
  errno = error;
}

void SetTimer(suseconds_t first, suseconds_t then) {
  const itimerval times = {{0, then}, {0, first}};
  setitimer(ITIMER_REAL, &times, nullptr);
}

}  // namespace

void Start() {
  struct sigaction action = {};
  action.sa_handler = Draw;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  SetTimer(500000, 100000);
}

void Stop() {
  SetTimer(0, 0);
  Pause();
  paused = nullptr;
}

void Set(absl::string_view text) {
  written = 1 - written;
  Line& line = lines[written];
  text = text.substr(0, kWidth);
  std::copy(kWipe.begin(), kWipe.end(), line.bytes);
  std::copy(text.begin(), text.end(), line.bytes + kWipe.size());
  line.size = kWipe.size() + text.size();
  drawn = &line;
}

void Pause() {
  paused = drawn.exchange(nullptr);
  if (visible.exchange(false)) (void)!write(STDERR_FILENO, kWipe.data(), kWipe.size());
}

void Resume() { drawn = paused.exchange(nullptr); }

}  // namespace ampc::status_line
