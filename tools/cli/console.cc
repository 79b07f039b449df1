#include "tools/cli/console.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/utf8.h"
#include "tools/cli/status_line.h"

namespace ampc {
namespace {

constexpr int kBarWidth = 32;

// Columns on a terminal: UTF-8 continuation bytes take none. Wide characters count as one; good enough for tables of numbers.
size_t Width(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool LooksNumeric(absl::string_view text) {
  return !text.empty() && (absl::ascii_isdigit(text[0]) || (text.size() > 1 && text[0] == '-' && absl::ascii_isdigit(text[1])));
}

// Takes the places of streams that the caller closed, so that no file which is opened later gets one of their numbers, and text in it. What
// is written to standard output fails then, as it should.
void OccupyStandardStreams() {
  for (const auto& [stream, mode] :
       {std::pair(STDIN_FILENO, O_RDONLY), std::pair(STDOUT_FILENO, O_RDONLY), std::pair(STDERR_FILENO, O_WRONLY)}) {
    if (fcntl(stream, F_GETFD) < 0) (void)!open("/dev/null", mode);
  }
}

}  // namespace

Console::Console() {
  OccupyStandardStreams();
  // A reader that went away and a limit on the size of files are failed writes, which are reported; not the end.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  err_is_terminal_ = isatty(STDERR_FILENO) == 1;
}

void Console::Out(absl::string_view text) {
  if (progress_) status_line::Pause();
  const std::string printed = PrintableLines(text);
  if (ok_) {
    size_t written = 0;
    while (ok_ && written < printed.size()) {
      const ssize_t n = write(STDOUT_FILENO, printed.data() + written, printed.size() - written);
      if (n > 0) {
        written += static_cast<size_t>(n);
      } else if (n == 0 || errno != EINTR) {
        ok_ = false;
        unread_ = errno == EPIPE || errno == EBADF;
      }
    }
    if (written > 0) begun_ = true;
  }
  if (progress_) status_line::Resume();
}

void Console::Note(absl::string_view line) {
  const std::string text = absl::StrCat(Printable(line), "\n");
  if (progress_) status_line::Pause();
  std::fwrite(text.data(), 1, text.size(), stderr);
  if (progress_) status_line::Resume();
}

Progress::Progress(Console& console, absl::string_view stage) : console_(console) {
  if (!console.err_is_terminal()) return;
  Stage(stage);
  status_line::Start();
  console.progress_ = true;
}

Progress::~Progress() {
  if (!console_.err_is_terminal()) return;
  status_line::Stop();
  console_.progress_ = false;
}

void Progress::Stage(absl::string_view stage) {
  if (!console_.err_is_terminal()) return;
  stage_ = Printable(stage);
  status_line::Set(stage_);
}

void Progress::Update(double done, double total) {
  if (!console_.err_is_terminal() || total <= 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - updated_ < std::chrono::milliseconds(50)) return;
  updated_ = now;
  const double part = std::clamp(done / total, 0.0, 1.0);
  const int full = static_cast<int>(part * kBarWidth);
  status_line::Set(absl::StrFormat("%s [%s%s] %3.0f %%", stage_, std::string(full, '#'), std::string(kBarWidth - full, '.'), part * 100));
}

std::string FormatTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Width(Printable(row[c])));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string cell = Printable(row[c]), pad(widths[c] - Width(cell), ' ');
      absl::StrAppend(&line, c == 0 ? "" : "  ", LooksNumeric(cell) ? pad : "", cell, LooksNumeric(cell) ? "" : pad);
    }
    absl::StrAppend(&out, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return out;
}

std::string HumanBytes(int64_t bytes) {
  if (bytes < 1000) return absl::StrCat(bytes, " B");
  if (bytes < 1000 * 1000) return absl::StrFormat("%.1f kB", bytes / 1e3);
  if (bytes < int64_t{1000} * 1000 * 1000) return absl::StrFormat("%.1f MB", bytes / 1e6);
  return absl::StrFormat("%.2f GB", bytes / 1e9);
}

std::string HumanDuration(double seconds) {
  const auto whole = static_cast<int64_t>(std::clamp(seconds, 0.0, 1e9));
  if (whole < 90) return absl::StrCat(whole, " s");
  const int64_t minutes = (whole + 30) / 60;
  return minutes < 90 ? absl::StrCat(minutes, " min") : absl::StrCat(minutes / 60, " h ", minutes % 60, " min");
}

std::string HumanSeconds(double seconds) {
  if (seconds < 1e-3) return absl::StrFormat("%.1f us", seconds * 1e6);
  return seconds < 1 ? absl::StrFormat("%.1f ms", seconds * 1e3) : absl::StrFormat("%.2f s", seconds);
}

}  // namespace ampc
