// Console: where a command writes. Results go to stdout, everything else to stderr; colours and progress only on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ampc {

class Console {
 public:
  // The process's stdout and stderr. Made first of all, once: writing to a closed pipe or over a limit fails from then on and sends no
  // signal, and streams that the caller closed are occupied.
  Console();
  // Text of the result. A failed write (closed pipe, full disk) is remembered for ok(). Control characters but line feeds and tabs are made
  // visible, here and in notes: names come from files, and a terminal obeys.
  void Out(absl::string_view text);
  void Note(absl::string_view line);  // a line on stderr
  bool ok() const { return ok_; }
  bool unread() const { return unread_; }  // not ok, because nobody reads: the pipe's reader went away, or the caller closed the stream
  bool has_enough() const { return unread_ && begun_; }  // the reader took a part and went away, as `head` does
  bool err_is_terminal() const { return err_is_terminal_; }

 private:
  friend class Progress;
  bool err_is_terminal_;
  bool progress_ = false;  // there is one, and what is printed has to make room
  bool ok_ = true;
  bool unread_ = false;
  bool begun_ = false;  // something was written
};

// The current stage, on stderr: only on a terminal, and only from half a second on. One at a time; what the console prints stands on
// its own lines.
class Progress {
 public:
  Progress(Console& console, absl::string_view stage);
  ~Progress();  // wipes it
  Progress(const Progress&) = delete;
  void Stage(absl::string_view stage);     // something else is being done
  void Update(double done, double total);  // a bar: this much of the stage

 private:
  Console& console_;
  std::string stage_;
  std::chrono::steady_clock::time_point updated_;
};

// Columns padded to one width per column, cells on one line each (Printable of graph/base/utf8.h); the first row is the header. Numbers (by
// first character) align right.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);
std::string HumanBytes(int64_t bytes);      // "10.8 MB"
std::string HumanSeconds(double seconds);   // "26.0 ms", "1.25 s"
std::string HumanDuration(double seconds);  // "40 s", "12 min", "3 h 20 min"

}  // namespace ampc
