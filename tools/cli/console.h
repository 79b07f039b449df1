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
  // The process's stdout and stderr. Made first of all, once: writing to a closed pipe or over a limit fails from then on and sends no signal, and
  // streams that the caller closed are occupied.
  Console();
  // Text of the result, written as it is. A failed write (closed pipe, full disk) is remembered for ok().
  void Out(absl::string_view text);
  void Note(absl::string_view line);  // a line on stderr
  bool ok() const { return ok_; }
  bool err_is_terminal() const { return err_is_terminal_; }

 private:
  bool err_is_terminal_;
  bool ok_ = true;
};

// A progress bar on stderr, drawn only on a terminal and only when the work takes longer than half a second.
class Progress {
 public:
  Progress(Console& console, std::string what);
  ~Progress();  // wipes the bar
  void Update(double done, double total);

 private:
  Console& console_;
  std::string what_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_;
  bool visible_ = false;
};

// Columns padded to one width per column; the first row is the header. Numbers (by first character) align right.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);
std::string HumanBytes(int64_t bytes);    // "10.8 MB"
std::string HumanSeconds(double seconds);  // "26.0 ms", "1.25 s"

}  // namespace ampc
