// The result of a comparison as JSON and as a table, for programs.
#pragma once

#include <string>

#include "runtime/compare/compare_models.h"

namespace ampc {

// `ampc compare --json`; `a` and `b` are what the models are called.
std::string ComparisonJson(const std::string& a, const std::string& b, const ModelComparison& comparison);
// `--csv`: a row for each value, with the fields that it has in JSON.
std::string ComparisonCsv(const ModelComparison& comparison);

}  // namespace ampc
