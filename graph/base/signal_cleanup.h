// The files to be removed when a signal ends the process: those that nobody knows of yet.
//
// The library remembers them; whether a signal ends the process so is the program's choice (tools/cli/uncaught.h). Functions may be called
// from any thread; EndBySignal from a signal handler.
#pragma once

#include <string>

namespace ampc {

// The file, or the folder where it is empty then, goes when a signal ends the process, until KeepOnSignal.
void RemoveOnSignal(const std::string& path);
void KeepOnSignal(const std::string& path);

// While one lives no signal ends the process through EndBySignal: it is done when the last one dies. For steps that belong together
// and take milliseconds.
class DeferSignals {
 public:
  DeferSignals();
  DeferSignals(const DeferSignals&) = delete;
  ~DeferSignals();
};

// Removes these files and ends the process by that signal, as if it had no handler. Calls only what a signal handler may.
void EndBySignal(int signal);

}  // namespace ampc
