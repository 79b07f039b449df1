#include "tools/train/plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/picture/svg.h"

namespace ampc {
namespace {

using svg::kColours;
using svg::Range;
using svg::Text;
using svg::TickStep;
using Points = std::vector<std::pair<double, double>>;

constexpr double kWidth = 760, kLeft = 64, kRight = 16, kHeight = 170, kGap = 44, kTop = 64;
constexpr size_t kMaxPoints = 400;  // of one line

struct Panel {
  const char* title;
  Points TrainingCurve::*points;
  bool log2;
  double most;  // no axis goes beyond
};
constexpr Panel kPanels[] = {{"training loss", &TrainingCurve::loss, false, INFINITY},
                             {"test accuracy", &TrainingCurve::accuracy, false, 1},
                             {"loss scale", &TrainingCurve::scale, true, INFINITY}};

// Finite values only; neighbours are averaged where there are more than a picture can show.
Points Drawn(const Points& points, bool log2) {
  Points finite;
  for (const auto& [x, y] : points) {
    if (std::isfinite(y) && (!log2 || y > 0)) finite.emplace_back(x, log2 ? std::log2(y) : y);
  }
  const size_t group = log2 ? 1 : (finite.size() + kMaxPoints - 1) / kMaxPoints;
  if (group <= 1) return finite;
  Points out;
  for (size_t i = 0; i < finite.size(); i += group) {
    const size_t end = std::min(i + group, finite.size());
    double x = 0, y = 0;
    for (size_t k = i; k < end; ++k) {
      x += finite[k].first;
      y += finite[k].second;
    }
    out.emplace_back(x / static_cast<double>(end - i), y / static_cast<double>(end - i));
  }
  return out;
}

std::string Number(double v, double step) { return absl::StrFormat("%g", std::abs(v) < step / 2 ? 0 : v); }

// Steps of a whole power of two where the values are logarithms.
double StepOf(const Range& range, bool log2) {
  const double step = TickStep(range.high - range.low);
  return log2 ? std::max(1.0, std::ceil(step)) : step;
}

// From one tick to another, so that no line leaves the axis unlabelled; never below zero where no value is.
Range Rounded(const Range& range, double step, bool log2) {
  Range out{std::floor(range.low / step + 1e-9) * step, std::ceil(range.high / step - 1e-9) * step};
  if (range.low >= 0 && !log2) out.low = std::max(out.low, 0.0);
  return out;
}

std::string Axis(const Range& y, double step, double top, bool log2) {
  std::string out;
  for (double v = std::ceil(y.low / step - 1e-9) * step; v <= y.high + step * 1e-9; v += step) {
    const double at = top + kHeight * (1 - y.At(v));
    absl::StrAppend(
        &out, absl::StrFormat("<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kLeft, at, kWidth - kRight, at));
    absl::StrAppend(&out,
                    Text(kLeft - 6, at + 4, "end", log2 ? absl::StrFormat("2^%d", static_cast<int>(std::lround(v))) : Number(v, step)));
  }
  return out;
}

// Whole steps, below the last panel.
std::string StepAxis(const Range& x, double bottom) {
  std::string out;
  const double step = std::max(1.0, TickStep(x.high - x.low));
  for (double v = std::ceil(x.low / step) * step; v <= x.high + step * 1e-9; v += step) {
    const double at = kLeft + (kWidth - kLeft - kRight) * x.At(v);
    absl::StrAppend(
        &out, absl::StrFormat("<line class=\"frame\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", at, bottom, at, bottom + 4),
        Text(at, bottom + 18, "middle", Number(v, step)));
  }
  return absl::StrCat(out, Text(kLeft - 6, bottom + 18, "end", "step"));
}

// As steps where a value holds until the next one.
std::string Line(const Points& points, const Range& x, const Range& y, double top, bool steps, const char* colour) {
  std::string path;
  double before = 0;
  for (const auto& [px, py] : points) {
    const double at = kLeft + (kWidth - kLeft - kRight) * x.At(px), height = top + kHeight * (1 - y.At(py));
    if (path.empty()) absl::StrAppend(&path, absl::StrFormat("M%.1f %.1f", at, height));
    if (steps && height != before) absl::StrAppend(&path, absl::StrFormat("H%.1fV%.1f", at, height));
    if (!steps) absl::StrAppend(&path, absl::StrFormat("L%.1f %.1f", at, height));
    before = height;
  }
  if (steps && !points.empty())
    absl::StrAppend(&path, absl::StrFormat("H%.1f", kLeft + (kWidth - kLeft - kRight) * x.At(points.back().first)));
  std::string out = absl::StrFormat("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"/>\n", path, colour);
  if (points.size() <= 30 && !steps) {
    for (const auto& [px, py] : points) {
      absl::StrAppend(&out, absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                                            kLeft + (kWidth - kLeft - kRight) * x.At(px), top + kHeight * (1 - y.At(py)), colour));
    }
  }
  return out;
}

std::string Legend(const std::vector<TrainingCurve>& curves) {
  std::string out;
  double x = kLeft;
  for (size_t i = 0; i < curves.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    absl::StrAppend(&out, absl::StrFormat("<rect x=\"%.1f\" y=\"36\" width=\"14\" height=\"4\" fill=\"%s\"/>\n", x, colour),
                    Text(x + 19, 42, "start", curves[i].name));
    x += 40 + 7.0 * static_cast<double>(curves[i].name.size());
  }
  return out;
}

}  // namespace

std::string PlotTraining(const std::string& title, const std::vector<TrainingCurve>& curves) {
  Range x;
  for (const TrainingCurve& curve : curves) {
    for (const Panel& panel : kPanels) {
      for (const auto& point : curve.*panel.points) x.Add(point.first);
    }
  }
  std::string body = absl::StrCat(Text(kLeft, 22, "start", title, " font-size=\"15\" font-weight=\"bold\""), Legend(curves));
  double top = kTop;
  for (const Panel& panel : kPanels) {
    Range y;
    std::vector<Points> drawn;
    for (const TrainingCurve& curve : curves) {
      drawn.push_back(Drawn(curve.*panel.points, panel.log2));
      for (const auto& point : drawn.back()) y.Add(point.second);
    }
    if (y.high < y.low) continue;
    if (y.high == y.low) {
      const double around = panel.log2 ? 1 : std::max(std::abs(y.low) / 10, 1e-3);
      y = {y.low - around, y.high + around};
    }
    const double step = StepOf(y, panel.log2);
    y = Rounded(y, step, panel.log2);
    y.high = std::min(y.high, panel.most);
    absl::StrAppend(&body, Text(kLeft, top - 6, "start", panel.title), Axis(y, step, top, panel.log2));
    absl::StrAppend(&body, absl::StrFormat("<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", kLeft, top,
                                           kWidth - kLeft - kRight, kHeight));
    for (size_t i = 0; i < drawn.size(); ++i)
      absl::StrAppend(&body, Line(drawn[i], x, y, top, panel.log2, kColours[i % std::size(kColours)]));
    top += kHeight + kGap;
  }
  if (x.high >= x.low) absl::StrAppend(&body, StepAxis(x, top - kGap));
  return svg::Page(kWidth, top, body);
}

}  // namespace ampc
