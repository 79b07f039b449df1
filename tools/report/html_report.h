// The report of a conversion as one page: it loads nothing, and shows the data of the .json report and the graph.
#pragma once

#include <string>

#include "runtime/convert/convert.h"

namespace ampc {

// The same data give the same bytes. A page stays small enough for a browser: it says how much is in the .json report only.
std::string ReportHtml(const ConvertResult& result);

}  // namespace ampc
