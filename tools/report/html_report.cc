#include "tools/report/html_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graph/base/utf8.h"
#include "runtime/convert/report.h"
#include "tools/report/graph_json.h"
#include "tools/report/page.inc"

namespace ampc {
namespace {

std::string EscapeText(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// JSON inside of a script element: nothing in it may look like the end of the element or a comment. `<` stands in strings only.
std::string EscapeScript(absl::string_view json) {
  return absl::StrReplaceAll(json, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

// The page with every {{name}} replaced; what is put in is not looked at again.
std::string Fill(absl::string_view page, absl::Span<const std::pair<absl::string_view, std::string>> parts) {
  std::string out;
  for (const auto& [name, text] : parts) {
    const size_t at = page.find(name);
    if (at == absl::string_view::npos) continue;
    absl::StrAppend(&out, page.substr(0, at), text);
    page.remove_prefix(at + name.size());
  }
  absl::StrAppend(&out, page);
  return out;
}

}  // namespace

std::string ReportHtml(const ConvertResult& result) {
  const AmpReportLimits limits = {.ops = 10'000, .casts = 5'000, .weights = 5'000, .consumers = 50};
  const std::string report = ReportJson(result, limits);
  const std::string graph = result.program == nullptr ? "{}" : GraphJson(*result.program, {});
  // In the order of the page.
  return Fill(kPageHtml, {{"{{title}}", EscapeText(DocumentText(absl::StrCat(result.options.output, " - ampc report")))},
                          {"{{style}}", kPageCss},
                          {"{{report}}", EscapeScript(report)},
                          {"{{graph}}", EscapeScript(graph)},
                          {"{{script}}", absl::StrCat(kBaseJs, kSummaryJs, kTablesJs, kGraphJs, kDetailsJs, kMainJs)}});
}

}  // namespace ampc
