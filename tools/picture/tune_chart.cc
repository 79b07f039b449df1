#include "tools/picture/tune_chart.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/picture/svg.h"

namespace ampc {
namespace {

using svg::Range;
using svg::Text;

constexpr double kWidth = 760, kLeft = 64, kRight = 24, kTop = 64, kHeight = 320, kBottom = 48;
constexpr const char *kChosen = svg::kColours[2], *kGood = svg::kColours[0], *kBad = svg::kColours[1];

struct Dot {
  double x, y;  // milliseconds; the logarithm of the error
  bool front;
  const char* colour;
};

// An error that is not finite lies at the upper border, one of zero at the lower.
std::vector<Dot> Dots(const TuneResult& result, Range* x, Range* y) {
  for (const TunePoint& point : result.points) {
    x->Add(point.predicted.mixed * 1e3);
    if (point.error > 0 && std::isfinite(point.error)) y->Add(std::log10(point.error));
  }
  if (!(y->high >= y->low)) *y = {-4, 0};
  *y = {std::floor(y->low), std::max(std::ceil(y->high), std::floor(y->low) + 1)};
  const double margin = std::max((x->high - x->low) * 0.05, x->high * 0.01);
  *x = {x->low - margin, x->high + margin};
  std::vector<Dot> dots;
  for (size_t i = 0; i < result.points.size(); ++i) {
    const TunePoint& point = result.points[i];
    const double error = point.error > 0 ? std::log10(point.error) : -INFINITY;
    const bool good = point.good && point.held_back_good.value_or(true);
    dots.push_back({point.predicted.mixed * 1e3, std::clamp(std::isnan(error) ? y->high : error, y->low, y->high), result.OnFront(i),
                    result.chosen == i ? kChosen
                    : good             ? kGood
                                       : kBad});
  }
  return dots;
}

class Chart {
 public:
  Chart(Range x, Range y) : x_(x), y_(y) {}

  double AtX(double v) const { return kLeft + (kWidth - kLeft - kRight) * x_.At(v); }
  double AtY(double v) const { return kTop + kHeight * (1 - y_.At(v)); }

  std::string Axes() const {
    std::string out;
    for (double v = y_.low; v <= y_.high; v += 1) {
      absl::StrAppend(&out, Line("grid", kLeft, AtY(v), kWidth - kRight, AtY(v)),
                      Text(kLeft - 6, AtY(v) + 4, "end", absl::StrFormat("1e%d", static_cast<int>(v))));
    }
    const double step = svg::TickStep(x_.high - x_.low);
    for (double v = std::ceil(x_.low / step) * step; v <= x_.high; v += step) {
      absl::StrAppend(&out, Line("grid", AtX(v), kTop, AtX(v), kTop + kHeight),
                      Text(AtX(v), kTop + kHeight + 18, "middle", absl::StrFormat("%g", v)));
    }
    absl::StrAppend(&out, absl::StrFormat("<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", kLeft, kTop,
                                          kWidth - kLeft - kRight, kHeight));
    return absl::StrCat(out, Text(kLeft, kTop - 6, "start", "error"),
                        Text(kWidth - kRight, kTop + kHeight + 38, "end", "predicted milliseconds"));
  }

  std::string Drawn(const Dot& dot) const {
    return absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\"%s/>\n", AtX(dot.x), AtY(dot.y), dot.front ? 5 : 3,
                           dot.colour, dot.front ? "" : " fill-opacity=\"0.5\"");
  }

 private:
  static std::string Line(const char* kind, double x1, double y1, double x2, double y2) {
    return absl::StrFormat("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kind, x1, y1, x2, y2);
  }

  Range x_, y_;
};

std::string Legend() {
  std::string out;
  double x = kLeft;
  for (const auto& [colour, text] : {std::pair(kChosen, "chosen"), std::pair(kGood, "good"), std::pair(kBad, "not good")}) {
    absl::StrAppend(&out, absl::StrFormat("<circle cx=\"%.1f\" cy=\"38\" r=\"5\" fill=\"%s\"/>\n", x + 5, colour),
                    Text(x + 16, 42, "start", text));
    x += 90;
  }
  return out;
}

}  // namespace

std::string TuneChart(const TuneResult& result) {
  Range x, y;
  const std::vector<Dot> dots = Dots(result, &x, &y);
  const Chart chart(x, y);
  const std::string title = absl::StrCat(result.options.model, ", ", DTypeWord(result.options.dtype), " on ", result.device);
  std::string body = absl::StrCat(Text(kLeft, 22, "start", title, " font-size=\"15\" font-weight=\"bold\""), Legend(), chart.Axes());
  for (const Dot& dot : dots) absl::StrAppend(&body, chart.Drawn(dot));
  return svg::Page(kWidth, kTop + kHeight + kBottom, body);
}

}  // namespace ampc
