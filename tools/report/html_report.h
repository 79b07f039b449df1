// The report of a conversion as one page: it loads nothing, and shows the data of the .json report and the graph.
#pragma once

#include <string>

#include "tools/cli/convert_model.h"

namespace ampc {

// The report that belongs to the ending of `path`, .html or .json (the default). `result` is what ConvertModel made of `request`.
// The same data give the same bytes. A page stays small enough for a browser: it says how much is in the .json report only.
std::string MakeReport(const std::string& path, const ConvertRequest& request, const ConvertResult& result);
std::string ReportHtml(const ConvertRequest& request, const ConvertResult& result);

}  // namespace ampc
