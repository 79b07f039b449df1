// The one line on a terminal that says what is being done.
//
// A timer draws it, so that it is there however long a step of the work lasts. It is a signal and no thread: beside a thread every
// allocation and every shared pointer of the work would pay for locks.
#pragma once

#include "absl/strings/string_view.h"

namespace ampc::status_line {

// From half a second on the line is drawn on stderr again and again, until Stop, which wipes it. The caller has made sure that stderr is a
// terminal.
void Start();
void Stop();

// The text of the line; cut to the width of a narrow terminal. Nothing is drawn here.
void Set(absl::string_view text);

// Wipes the line and keeps it away until Resume: what is printed in between stands on lines of its own.
void Pause();
void Resume();

}  // namespace ampc::status_line
