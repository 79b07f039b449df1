// The results and the options of a conversion, as JSON.
#pragma once

#include <string>

#include "graph/base/json_writer.h"
#include "passes/amp/report/report.h"
#include "runtime/convert/convert.h"

namespace ampc {

// Every option that changes what comes out, as an object, in the form that configuration files have; what decides as another system does
// has "compat", too.
void WriteConvertConfig(const ConvertOptions& options, JsonWriter& json);
// The file of `ampc convert --write-config`.
std::string ConfigJson(const ConvertOptions& options);

// `ampc convert --json`: names, sizes, seconds, notes, and facts of the converted program.
std::string SummaryJson(const ConvertResult& result);
// The report of a conversion, op by op. Made when it is asked for: a program of a million ops has a large one.
AmpReport ReportOf(const ConvertResult& result);
// The report of `ampc convert --report r.json`.
std::string ReportJson(const ConvertResult& result, const AmpReportLimits& limits = {});

// Whether it matters that weights were clamped or vanished: "of a weight's norm clamping takes up to 27 % ('w'), ...", of each the weight
// that lost most; "" where none was. Bounds, from the counts and the largest magnitude: a weight's norm is at least that.
std::string WeightLossText(const ConvertResult& result);

}  // namespace ampc
