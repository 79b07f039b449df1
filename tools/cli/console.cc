#include "tools/cli/console.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

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
  ok_ = ok_ && std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

void Console::Note(absl::string_view line) {
  const std::string text = absl::StrCat(line, "\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

Progress::Progress(Console& console, std::string what)
    : console_(console), what_(std::move(what)), start_(std::chrono::steady_clock::now()), drawn_(start_) {}

Progress::~Progress() {
  if (visible_) std::fputs("\r\033[K", stderr);
}

void Progress::Update(double done, double total) {
  using std::chrono::milliseconds;
  const auto now = std::chrono::steady_clock::now();
  if (!console_.err_is_terminal() || total <= 0 || now - start_ < milliseconds(500) || now - drawn_ < milliseconds(50)) return;
  drawn_ = now;
  visible_ = true;
  const double part = std::clamp(done / total, 0.0, 1.0);
  const int full = static_cast<int>(part * kBarWidth);
  std::fputs(absl::StrFormat("\r%s [%s%s] %3.0f %%", what_, std::string(full, '#'), std::string(kBarWidth - full, '.'), part * 100).c_str(),
             stderr);
}

std::string FormatTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Width(row[c]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - Width(row[c]), ' ');
      absl::StrAppend(&line, c == 0 ? "" : "  ", LooksNumeric(row[c]) ? pad : "", row[c], LooksNumeric(row[c]) ? "" : pad);
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

std::string HumanSeconds(double seconds) {
  if (seconds < 1e-3) return absl::StrFormat("%.1f us", seconds * 1e6);
  return seconds < 1 ? absl::StrFormat("%.1f ms", seconds * 1e3) : absl::StrFormat("%.2f s", seconds);
}

}  // namespace ampc
