#include "tools/report/html_report.h"

#include <array>
#include <cmath>
#include <map>

#include <gmock/gmock.h>

#include "absl/strings/str_split.h"
#include "graph/base/json_reader.h"
#include "runtime/convert/report.h"
#include "tests/report/reported.h"

namespace ampc {
namespace {

using testing::Convert;
using ::testing::HasSubstr;
using testing::kEvilName;
using ::testing::Not;
using testing::ReadFile;
using testing::ReportedProgram;
using testing::TempFolder;

class HtmlReport : public ::testing::Test {
 protected:
  // The contents of a script element of the page.
  static JsonValue Data(const std::string& page, const std::string& id) {
    const std::string open = "id=\"" + id + "\">";
    const size_t begin = page.find(open);
    EXPECT_NE(begin, std::string::npos);
    const size_t end = page.find("</script>", begin);
    absl::StatusOr<JsonValue> json = ParseJson(page.substr(begin + open.size(), end - begin - open.size()));
    EXPECT_TRUE(json.ok()) << json.status().message();
    return json.ok() ? *std::move(json) : JsonValue();
  }
  static size_t Size(const JsonValue& object, const std::string& key) { return object.Find(key)->items.size(); }

  TempFolder folder_;
};

TEST_F(HtmlReport, HoldsTheDataOfTheJsonReport) {
  const ConvertResult reported = Convert(folder_, ReportedProgram());
  const std::string page = ReportHtml(reported);
  const JsonValue data = Data(page, "report-data");
  absl::StatusOr<JsonValue> json = ParseJson(ReportJson(reported));
  ASSERT_TRUE(json.ok());
  for (const char* list : {"ops", "casts", "weights", "types"}) EXPECT_EQ(Size(data, list), Size(*json, list)) << list;
  EXPECT_EQ(Size(data, "ops"), 1 + 6 * 5 + 4 + 1u);
  EXPECT_EQ(data.Find("command")->text, reported.options.command);
  bool found = false;
  for (const JsonValue& op : data.Find("ops")->items) found = found || op.Find("value")->text == kEvilName;
  EXPECT_TRUE(found);
}

TEST_F(HtmlReport, GraphAndReportNumberOpsAlike) {
  const ConvertResult reported = Convert(folder_, ReportedProgram());
  const std::string page = ReportHtml(reported);
  const JsonValue graph = Data(page, "graph-data"), data = Data(page, "report-data");
  EXPECT_EQ(Size(graph, "casts"), Size(data, "casts"));
  EXPECT_EQ(Size(graph, "ops"), Size(data, "casts") + Size(data, "ops"));
  EXPECT_EQ(graph.Find("num_ops")->AsDouble(), static_cast<double>(Size(graph, "ops")));
}

TEST_F(HtmlReport, NamesAreNeverMarkup) {
  const ConvertResult reported = Convert(folder_, ReportedProgram());
  const std::string page = ReportHtml(reported);
  EXPECT_THAT(page, Not(HasSubstr("alert(1)<")));
  EXPECT_THAT(page, Not(HasSubstr("<w>")));
  EXPECT_THAT(page, Not(HasSubstr("a <b>")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"));
  // As many ends of scripts as the page has itself.
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(page, "</script>")).size(), 4u);
}

TEST_F(HtmlReport, TheTitleIsEscaped) {
  ConvertResult reported = Convert(folder_, ReportedProgram());
  reported.options.output = "</title><i>\"&.ampc";
  const std::string page = ReportHtml(reported);
  EXPECT_THAT(page, HasSubstr("<title>&lt;/title&gt;&lt;i&gt;&quot;&amp;.ampc"));
}

TEST_F(HtmlReport, PlaceholdersInNamesAreText) {
  ConvertResult reported = Convert(folder_, ReportedProgram());
  reported.options.output = "{{script}}{{report}}";
  const std::string page = ReportHtml(reported);
  EXPECT_EQ(Data(page, "report-data").Find("output")->text, "{{script}}{{report}}");
}

TEST_F(HtmlReport, LoadsNothing) {
  const ConvertResult reported = Convert(folder_, ReportedProgram());
  const std::string page = ReportHtml(reported);
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* part : {"https:", "src=\"", "@import", "url(http", "<link"}) EXPECT_THAT(page, Not(HasSubstr(part))) << part;
}

TEST_F(HtmlReport, SameDataSameBytes) {
  ConvertResult a = Convert(folder_, ReportedProgram()), b = Convert(folder_, ReportedProgram());
  for (ConvertResult* r : {&a, &b}) r->load_seconds = r->pass_seconds = r->save_seconds = 0.5;
  EXPECT_EQ(ReportHtml(a), ReportHtml(b));
}

TEST_F(HtmlReport, TheExtensionChooses) {
  testing::WriteFile(folder_ / "model.prog", ReportedProgram());
  ConvertOptions options{.model = folder_ / "model.prog", .output = folder_ / "low.ampc", .page = ReportHtml};
  options.report = folder_ / "r.json";
  ASSERT_TRUE(ampc::Convert(options).ok());
  EXPECT_TRUE(ParseJson(ReadFile(options.report)).ok());
  options.report = folder_ / "r.html";
  ASSERT_TRUE(ampc::Convert(options).ok());
  EXPECT_THAT(ReadFile(options.report), ::testing::StartsWith("<!doctype html>"));
  options.page = nullptr;
  EXPECT_THAT(ampc::Convert(options).status().message(), ::testing::HasSubstr("a .json file is needed"));
}

TEST_F(HtmlReport, CastsSayWhoWantedThem) {
  const ConvertResult reported = Convert(folder_, ReportedProgram());
  const JsonValue data = Data(ReportHtml(reported), "report-data");
  std::map<std::string, std::string> reasons;
  for (const JsonValue& cast : data.Find("casts")->items) reasons[cast.Find("source")->text] = cast.Find("reason")->text;
  EXPECT_THAT(reasons["x"], HasSubstr("matmul_v2 computes in low precision (allow: "));
  EXPECT_THAT(reasons["b0"], HasSubstr("exp stays fp32 (deny: "));
}

TEST_F(HtmlReport, ALargeProgramMakesABoundedPage) {
  std::string text = "program large version=1\n\nblock main {\n  feed x : f32 [?, 4]\n";
  constexpr const char* kTypes[] = {"relu", "tanh", "exp", "sigmoid", "softmax", "sqrt", "square"};
  constexpr int kOps = 30'000;
  uint32_t random = 1;
  for (int i = 0; i < kOps; ++i) {
    random = random * 1664525 + 1013904223;
    absl::StrAppend(&text, "  v", i, " = ", kTypes[(random >> 16) % 7], "(", i == 0 ? "x" : absl::StrCat("v", i - 1), ") : f32 [?, 4]\n");
  }
  absl::StrAppend(&text, "  fetch v", kOps - 1, "\n}\n");
  const ConvertResult reported = Convert(folder_, text);
  const std::string page = ReportHtml(reported);
  EXPECT_LT(page.size(), 8u << 20);
  const JsonValue data = Data(page, "report-data"), graph = Data(page, "graph-data");
  EXPECT_EQ(Size(data, "ops"), 10'000u);
  EXPECT_EQ(data.Find("omitted")->Find("ops")->AsDouble(), kOps - 10'000);
  int64_t counted = 0;
  for (const JsonValue& type : data.Find("types")->items)
    counted += *type.Find("low")->AsInt() + *type.Find("fp32")->AsInt() + *type.Find("none")->AsInt();
  EXPECT_EQ(counted, kOps);  // all of them, whatever is left out
  size_t nodes = 0;
  for (const JsonValue& scene : graph.Find("grouped")->items) nodes += Size(scene, "nodes");
  EXPECT_LE(nodes, 8'000u);
}

TEST_F(HtmlReport, OfTheSmallestPrograms) {
  for (const char* text : {"program none version=1\n\nblock main {\n  feed x : f32 [1]\n  fetch x\n}\n",
                           "program one version=1\n\nblock main {\n  feed x : f32 [1]\n  y = relu(x) : f32 [1]\n  fetch y\n}\n"}) {
    const ConvertResult reported = Convert(folder_, text);
    const JsonValue data = Data(ReportHtml(reported), "report-data");
    EXPECT_EQ(Size(data, "weights"), 0u);
  }
}

// The colours of the style sheet, "--name: light-dark(#rrggbb, #rrggbb)", in the light theme and in the dark one.
using Colours = std::map<std::string, std::string>;
std::array<Colours, 2> Themes(const std::string& css) {
  std::array<Colours, 2> themes;
  const std::string kPair = ": light-dark(#";
  for (size_t at = css.find(kPair); at != std::string::npos; at = css.find(kPair, at + 1)) {
    const size_t name = css.rfind("--", at) + 2, values = at + kPair.size();
    if (css.substr(values + 6, 3) != ", #" || css[values + 15] != ')') continue;
    themes[0][css.substr(name, at - name)] = css.substr(values, 6);
    themes[1][css.substr(name, at - name)] = css.substr(values + 9, 6);
  }
  return themes;
}

double Luminance(const std::string& hex) {
  double sum = 0;
  constexpr double kWeight[] = {0.2126, 0.7152, 0.0722};
  for (int i = 0; i < 3; ++i) {
    const double c = std::stoi(hex.substr(2 * i, 2), nullptr, 16) / 255.0;
    sum += kWeight[i] * (c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double Contrast(const std::string& a, const std::string& b) {
  const double x = Luminance(a), y = Luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

// WCAG 2.1 AA: 4.5 for text, 3 for what is drawn.
TEST(PageStyle, TextCanBeReadInBothThemes) {
  for (Colours c : Themes(ReadFile("tools/report/page/page.css"))) {
    ASSERT_GT(c.size(), 15u);
    for (const char* surface : {"bg", "panel", "sunken"}) {
      for (const char* text : {"ink", "muted", "accent"}) EXPECT_GE(Contrast(c[text], c[surface]), 4.5) << text << " on " << surface;
    }
    EXPECT_GE(Contrast(c["edge"], c["sunken"]), 2.5);
    for (const std::string tone : {"low", "fp32", "none", "mixed", "cast", "bad"}) {
      EXPECT_GE(Contrast(c[tone], c[tone + "-tint"]), 4.5) << tone;
      EXPECT_GE(Contrast(c["ink"], c[tone + "-tint"]), 4.5) << tone;
      EXPECT_GE(Contrast(c["muted"], c[tone + "-tint"]), 4.5) << tone;
      EXPECT_GE(Contrast(c[tone], c["panel"]), 3) << tone;
    }
  }
}

}  // namespace
}  // namespace ampc
