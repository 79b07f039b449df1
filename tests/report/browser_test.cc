// The page in a real browser: Chromium without a window, where it is installed.
#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graph/base/json_reader.h"
#include "runtime/convert/report.h"
#include "tests/e2e/process.h"
#include "tests/report/png.h"
#include "tests/report/reported.h"
#include "tools/report/html_report.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Chromium() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

// encodeURIComponent undone.
std::string Decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out.push_back(text[i] == '%' ? static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)) : text[i]);
    if (text[i] == '%') i += 2;
  }
  return out;
}

class BrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    browser_ = Chromium();
    if (browser_.empty()) GTEST_SKIP() << "Chromium is not installed";
    const ConvertResult reported = Convert(folder_, ReportedProgram());
    WriteFile(folder_ / "r.html", ReportHtml(reported));
  }

  Outcome Run(std::vector<std::string> args, const std::string& page, const std::string& fragment) const {
    std::vector<std::string> all = {"--headless",
                                    "--no-sandbox",
                                    "--disable-gpu",
                                    "--disable-dev-shm-usage",
                                    "--hide-scrollbars",
                                    "--enable-logging=stderr",
                                    "--v=0",
                                    "--virtual-time-budget=4000",
                                    "--user-data-dir=" + (folder_ / "profile")};
    all.insert(all.end(), args.begin(), args.end());
    all.push_back("file://" + (folder_ / page) + "#" + fragment);
    return RunProcess(browser_, all, folder_.path(), {"HOME=" + folder_.path()});
  }

  // The text behind `mark` in the document, up to `end`.
  static std::string After(const std::string& dom, const std::string& mark, const std::string& end) {
    const size_t at = dom.find(mark);
    if (at == std::string::npos) return "";
    return dom.substr(at, dom.find(end, at) - at);
  }

  // The document as the scripts left it. Expects that they ran to the end without a message.
  std::string Dom(const std::string& fragment, const std::string& page = "r.html") const {
    const Outcome outcome = Run({"--dump-dom"}, page, fragment);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.err, Not(HasSubstr("CONSOLE")));
    EXPECT_THAT(After(outcome.out, "<html", ">"), HasSubstr("data-ready=\"1\""));
    EXPECT_THAT(After(outcome.out, "<html", ">"), Not(HasSubstr("data-error")));
    return outcome.out;
  }

  ImageFacts Screenshot(const std::string& fragment, const std::string& size) const {
    const Outcome outcome = Run({"--screenshot=" + (folder_ / "shot.png"), "--window-size=" + size}, "r.html", fragment);
    EXPECT_THAT(outcome.err, Not(HasSubstr("CONSOLE")));
    return ReadPng(ReadFile(folder_ / "shot.png"));
  }

  TempFolder folder_;
  std::string browser_;
};

TEST_F(BrowserTest, AMistakeInAPageIsSeen) {
  WriteFile(folder_ / "bad.html", "<script>console.error('mistake')</script>");
  EXPECT_THAT(Run({"--dump-dom"}, "bad.html", "").err, HasSubstr("CONSOLE"));
}

TEST_F(BrowserTest, LoadsWithEverySection) {
  const std::string dom = Dom("");
  for (const char* id : {"summary", "graph", "hazards", "types", "weights", "casts", "decisions"})
    EXPECT_NE(dom.find("id=\"" + std::string(id) + "-title\""), std::string::npos) << id;
  EXPECT_THAT(After(dom, "id=\"weights\"", "</tr></tbody>"), HasSubstr("&lt;w&gt;&amp;"));
  EXPECT_THAT(After(dom, "id=\"casts\"", "</section>"), HasSubstr("exp stays fp32 (deny: "));
  EXPECT_THAT(After(dom, "id=\"types\"", "</section>"), HasSubstr("elementwise_add"));
  EXPECT_THAT(After(dom, "id=\"command\"", "</pre>"), HasSubstr("ampc convert 'a &lt;b&gt;.prog'"));
  EXPECT_THAT(After(dom, "id=\"canvas\"", "</svg>"), HasSubstr("×"));
}

TEST_F(BrowserTest, HazardsAreListedByRule) {
  const char* const safe = "program s version=1\n\nblock main {\n  feed x : f32 [1]\n  y = relu(x) : f32 [1]\n  fetch y\n}\n";
  WriteFile(folder_ / "s.html", ReportHtml(Convert(folder_, safe)));
  EXPECT_THAT(After(Dom("", "s.html"), "id=\"hazards\"", "</section>"), HasSubstr("None was found."));
  WriteFile(folder_ / "h.html", ReportHtml(Convert(folder_, R"(program h version=1

block main {
  feed x : f32 [4, 8]
  const eps : f32 [] = 1e-12
  d = scale(x) scale=1.0 bias=-100.0 : f32 [4, 8]
  a = abs(d) : f32 [4, 8]
  s = elementwise_add(a, eps) : f32 [4, 8]
  r = sqrt(s) : f32 [4, 8]
  y = elementwise_div(d, r) : f32 [4, 8]
  fetch y
}
)")));
  const std::string hazards = After(Dom("", "h.html"), "id=\"hazards\"", "</section>");
  for (const char* text : {"protect.difference", "protect.constant", "protect.eps", "kept in fp32", "1e-12 is 0 in f16"})
    EXPECT_THAT(hazards, HasSubstr(text));
}

TEST_F(BrowserTest, NamesStayText) {
  EXPECT_THAT(After(Dom("q=sigmoid"), "id=\"decisions\"", "</section>"),
              HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;'&lt;!--"));
}

TEST_F(BrowserTest, AnOpIsShownWithItsReason) {
  // The first of the second block's ops is inside of a node that stands for all blocks.
  const std::string dom = Dom("op=10");
  const std::string details = After(dom, "id=\"details\"", "</aside>");
  EXPECT_THAT(details, HasSubstr("op #10"));
  EXPECT_THAT(details, HasSubstr("matmul_v2"));
  EXPECT_THAT(details, HasSubstr("<h3>Reason</h3>"));
  EXPECT_THAT(details, HasSubstr("block 2 of 6"));
  EXPECT_THAT(After(dom, " selected\"", "</g>"), HasSubstr("matmul_v2"));
}

TEST_F(BrowserTest, ATableCanBeFiltered) {
  EXPECT_THAT(After(Dom("q=softmax"), "id=\"decisions\"", "</section>"), HasSubstr("1 of 36 ops"));
  EXPECT_THAT(After(Dom("type=exp&tone=fp32"), "id=\"decisions\"", "</section>"), HasSubstr("6 of 36 ops"));
  EXPECT_THAT(After(Dom("q=nothing+like+it"), "id=\"decisions\"", "</section>"), HasSubstr("No op matches."));
}

TEST_F(BrowserTest, RepeatedBlocksCanBeUnfolded) { EXPECT_THAT(After(Dom("fold=0"), "id=\"canvas\"", "</svg>"), Not(HasSubstr("×"))); }

// The actions of a reader with mouse and keys, as a script behind those of the page; it writes down what failed.
constexpr char kHands[] = R"JS(<script>
const failed = [];
const expect = (what, ok) => { if (!ok) failed.push(what); };
const one = (selector) => document.querySelector(selector);
const text = (selector) => one(selector).textContent;
const press = (element, key) => element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const view = () => one("#canvas svg > g").getAttribute("transform");
const block = () => [...document.querySelectorAll(".node")].find((node) => node.querySelector(".count"));

block().dispatchEvent(new MouseEvent("click", { bubbles: true }));
expect("a click selects", text("#details").includes("6 equal blocks of 7 ops"));
block().dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
expect("a double click opens", text(".crumbs").includes("(1 of 6)"));
one('.stepper button[aria-label="Block after"]').click();
expect("the next block", text(".crumbs").includes("(2 of 6)") && text("#canvas").includes("v1"));
press(one("#canvas"), "Escape");
expect("Escape leaves", !text(".crumbs").includes("of 6"));
press(block(), "Enter");
expect("Enter opens what is selected", text(".crumbs").includes("(1 of 6)"));
one(".crumbs button").click();
expect("the path leads back", !text(".crumbs").includes("of 6"));

let before = view();
one('.zoom button[title="Zoom in"]').click();
expect("zoom", view() !== before);
before = view();
one("#canvas").dispatchEvent(new WheelEvent("wheel", { deltaY: -100, bubbles: true, cancelable: true }));
expect("the wheel alone scrolls the page", view() === before);
one("#canvas").dispatchEvent(new WheelEvent("wheel", { deltaY: -100, ctrlKey: true, bubbles: true, cancelable: true }));
expect("the wheel with Ctrl zooms", view() !== before);
before = view();
press(one("#canvas"), "ArrowLeft");
expect("arrows pan", view() !== before);
before = view();
press(one("#canvas"), "+");
expect("+ zooms", view() !== before);
press(one("#canvas"), "-");
expect("- zooms back", view() === before);
press(document.body, "/");
expect("/ searches", document.activeElement === one("#graph-tools input[type=search]"));
document.activeElement.blur();
one(".legend button.cast").click();
expect("the legend dims", document.querySelectorAll(".node.dim").length > 0 && !one(".node.cast").classList.contains("dim"));

const head = [...document.querySelectorAll("#types th button")].find((button) => button.textContent.includes("Type"));
head.click();
expect("a head sorts", text("#types tbody tr").includes("conditional_block"));
head.click();
expect("and back", text("#types tbody tr").includes("tanh"));
const search = one("#weights input");
search.value = "<w>";
search.dispatchEvent(new Event("input"));
expect("weights are found", document.querySelectorAll("#weights tbody tr").length === 1);
one("#decisions tbody tr:nth-child(3)").click();
expect("a decision leads to the graph", text("#details").includes("relu") && one(".node.selected") !== null);
expect("and is marked", one("#decisions tr.current") !== null);
one("#types button.link").click();
expect("a type filters", text("#decisions .count").includes("6 of 36"));
one("#theme").click();
one("#theme").click();
expect("colours", document.documentElement.dataset.theme === "dark");
document.documentElement.dataset.failed = failed.join("; ") || "nothing";
</script>)JS";

TEST_F(BrowserTest, AnswersToMouseAndKeys) {
  WriteFile(folder_ / "hands.html", ReadFile(folder_ / "r.html") + kHands);
  EXPECT_THAT(After(Dom("", "hands.html"), "<html", ">"), HasSubstr("data-failed=\"nothing\""));
}

// The page's option for each low op, evil names among them, keeps that op in fp32 and no other.
TEST_F(BrowserTest, AnExclusionCanBeCopied) {
  constexpr char kCollect[] = R"JS(<script>
const all = [];
const ops = JSON.parse(document.getElementById("report-data").textContent).ops;
const rows = document.querySelectorAll("#decisions tbody tr");
if (rows.length !== ops.length) all.push("missing rows");
rows.forEach((row, i) => {
  row.click();
  const place = document.getElementById("exclusion");
  if ((ops[i].precision === "low") !== (place !== null)) all.push("missing");
  if (place) all.push(ops[i].value + "\n" + place.textContent);
});
const shown = document.createElement("pre");
shown.id = "all";
shown.textContent = encodeURIComponent(JSON.stringify(all));
document.body.replaceChildren(shown);
</script>)JS";
  WriteFile(folder_ / "all.html", ReadFile(folder_ / "r.html") + kCollect);
  const std::string dom = Dom("", "all.html");
  const absl::StatusOr<JsonValue> all = ParseJson(Decoded(After(dom, "id=\"all\">", "</pre>").substr(9)));
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_GT(all->items.size(), 12u);
  for (const JsonValue& item : all->items) {
    const std::vector<std::string> parts = absl::StrSplit(item.text, absl::MaxSplits('\n', 1));
    ASSERT_EQ(parts.size(), 2u) << parts[0];
    const std::string prefix = "--exclude '";
    ASSERT_TRUE(absl::StartsWith(parts[1], prefix)) << parts[1];
    const std::string selector = absl::StrReplaceAll(parts[1].substr(prefix.size(), parts[1].size() - prefix.size() - 1), {{"'\\''", "'"}});
    const ConvertResult excluded = Convert(folder_, ReportedProgram(), {selector});
    ASSERT_NE(excluded.program, nullptr) << selector;
    std::vector<std::string> kept;
    for (const AmpOpEntry& op : ReportOf(excluded).ops) {
      if (op.rule == "exclude") kept.push_back(op.value);
    }
    EXPECT_THAT(kept, ::testing::ElementsAre(parts[0])) << selector;
  }
}

TEST_F(BrowserTest, TheSmallestProgramsAreShown) {
  for (const char* text : {"program none version=1\n\nblock main {\n  feed x : f32 [1]\n  fetch x\n}\n",
                           "program one version=1\n\nblock main {\n  feed x : f32 [1]\n  y = relu(x) : f32 [1]\n  fetch y\n}\n"}) {
    const ConvertResult reported = Convert(folder_, text);
    WriteFile(folder_ / "small.html", ReportHtml(reported));
    EXPECT_THAT(After(Dom("", "small.html"), "id=\"weights\"", "</section>"), HasSubstr("No weight is stored in low precision."));
  }
}

TEST_F(BrowserTest, LightAndDarkAndNarrow) {
  constexpr int kFewest = 60;  // an empty page has one colour
  const ImageFacts light = Screenshot("theme=light", "1300,1400");
  EXPECT_EQ(light.width, 1300);
  EXPECT_GT(light.colours, kFewest);
  EXPECT_GT(light.brightness, 200);
  const ImageFacts dark = Screenshot("theme=dark", "1300,1400");
  EXPECT_GT(dark.colours, kFewest);
  EXPECT_LT(dark.brightness, 60);
  const ImageFacts narrow = Screenshot("theme=light&only=graph", "500,900");
  EXPECT_GT(narrow.colours, kFewest);
  for (const char* state : {"op=12&only=graph", "only=weights", "q=softmax&only=decisions"})
    EXPECT_GT(Screenshot(state, "1300,900").colours, kFewest) << state;
}

TEST_F(BrowserTest, Prints) {
  const Outcome outcome = Run({"--print-to-pdf=" + (folder_ / "r.pdf"), "--no-pdf-header-footer"}, "r.html", "");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(ReadFile(folder_ / "r.pdf").substr(0, 5), "%PDF-");
}

}  // namespace
}  // namespace ampc::testing
