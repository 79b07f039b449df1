#include "tools/cli/uncaught.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "graph/base/error.h"
#include "graph/base/signal_cleanup.h"
#include "tools/cli/status_line.h"

namespace ampc {
namespace {

const char* verb = "";

// Takes no memory.
void Say(const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

[[noreturn]] void End() {
  const std::exception_ptr thrown = std::current_exception();
  if (thrown == nullptr) std::abort();
  static std::atomic_flag entered;  // several threads may meet the same end
  while (entered.test_and_set()) pause();
  status_line::Stop();
  Say("ampc");
  Say(*verb == '\0' ? "" : " ");
  Say(verb);
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    Say(": ");
    Say(kOutOfMemory);
    Say("\n");
  } catch (const std::exception& error) {
    Say(": ");
    Say(error.what());
    Say("\n");
  } catch (...) {
    Say(": an unknown exception\n");
  }
  _exit(static_cast<int>(ExitCode::kInternal));
}

}  // namespace

void EndWithSentence() {
  std::set_terminate(End);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {}, ours = {};
    ours.sa_handler = EndBySignal;
    sigfillset(&ours.sa_mask);
    // A signal that the caller ignores (nohup, jobs in the background) stays ignored.
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(number, &ours, nullptr);
  }
}

void NameInSentence(const std::string& name) { verb = name.c_str(); }

}  // namespace ampc
