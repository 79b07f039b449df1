// Parts of drawn charts: text, ranges of values, ticks.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/string_view.h"

namespace ampc::svg {

// Light or dark as the reader's system is.
inline constexpr char kStyle[] =
    "<style>.page{fill:#fff}text{fill:#222}.grid{stroke:#ddd}.frame{fill:none;stroke:#999}@media(prefers-color-scheme:dark){"
    ".page{fill:#16181c}text{fill:#ddd}.grid{stroke:#33363c}.frame{stroke:#777}}</style>\n";
inline constexpr const char* kColours[] = {"#2f86c9", "#d1495b", "#3f9a50", "#b8860b", "#8a6bbf", "#808080"};

struct Range {
  double low = INFINITY, high = -INFINITY;
  void Add(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  double At(double v) const { return high > low ? (v - low) / (high - low) : 0.5; }
};

// Steps of 1, 2 or 5 times a power of ten, about four over the range.
double TickStep(double span);

// `anchor` is "start", "middle" or "end"; `more` are attributes with a blank in front.
std::string Text(double x, double y, const char* anchor, absl::string_view text, absl::string_view more = "");

// The whole file around `body`.
std::string Page(double width, double height, absl::string_view body);

}  // namespace ampc::svg
