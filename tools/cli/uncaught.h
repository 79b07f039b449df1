// How the process ends when it does not end by itself: exceptions that nobody catches, the end of memory mostly, and signals.
#pragma once

#include <string>

namespace ampc {

inline constexpr char kOutOfMemory[] = "out of memory: the system gives this process no more";

// From here on such an exception ends the process with one sentence and exit code 5, at once and where it was thrown. It is not caught
// further out: hash tables of Abseil that could not grow do not survive their destructors. Files that are not finished have no names and
// vanish, as after a kill. SIGINT, SIGTERM and SIGHUP end it as they do without a handler, once temporary files are removed
// (graph/base/signal_cleanup.h).
void EndWithSentence();

// The verb that the sentence begins with; has to live as long as the process.
void NameInSentence(const std::string& verb);

}  // namespace ampc
