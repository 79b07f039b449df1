#include "tools/train/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ampc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

int Count(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

TEST(PlotTraining, DrawsALinePerRunAndPanel) {
  std::vector<TrainingCurve> curves = {
      {.name = "fp32", .loss = {{0, 2}, {1, 1}}, .accuracy = {{1, 0.8}}, .scale = {}},
      {.name = "O1 <fp16>", .loss = {{0, 2.5}, {1, NAN}, {2, 1.5}}, .accuracy = {{2, 0.9}}, .scale = {{0, 32768}, {1, 16384}, {2, 16384}}}};
  const std::string svg = PlotTraining("loss & scale", curves);
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg "), HasSubstr("loss &amp; scale"), HasSubstr("O1 &lt;fp16&gt;"), HasSubstr("training loss"),
                         HasSubstr("test accuracy"), HasSubstr("2^15")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_EQ(Count(svg, "<path "), 6);
  // The largest loss is at the top of the first panel, the smallest at its bottom; the scale is a step.
  EXPECT_THAT(svg, HasSubstr("M64.0 64.0") /* 2.5 of the second run */);
  EXPECT_THAT(svg, HasSubstr("L404.0 234.0") /* 1 of the first */);
  EXPECT_EQ(svg, PlotTraining("loss & scale", curves));
}

// Axes end at ticks, an accuracy at 1, and steps are whole; the reader's system chooses light or dark.
TEST(PlotTraining, HasAxes) {
  TrainingCurve curve;
  curve.name = "a";
  for (int i = 1; i <= 6; ++i) curve.loss.emplace_back(i, 2.303 - 0.013 * i);
  curve.accuracy = {{6, 0.97}};
  const std::string svg = PlotTraining("t", {curve});
  EXPECT_THAT(svg,
              AllOf(HasSubstr(">2.22<"), HasSubstr(">2.3<"), HasSubstr(">2<"), HasSubstr(">6<"), HasSubstr(">step<"), HasSubstr(">1<")));
  EXPECT_THAT(svg, AllOf(Not(HasSubstr(">1.5<")), Not(HasSubstr(">1.05<")), HasSubstr("prefers-color-scheme:dark")));
}

TEST(PlotTraining, LeavesEmptyPanelsOutAndThinsLongRuns) {
  TrainingCurve curve;
  curve.name = "a";
  for (int i = 0; i < 100000; ++i) curve.loss.emplace_back(i, std::exp(-i / 1e4));
  const std::string svg = PlotTraining("t", {curve});
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("loss scale")), Not(HasSubstr("accuracy"))));
  EXPECT_LT(svg.size(), 20000u);
  EXPECT_THAT(PlotTraining("nothing", {}), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace ampc
