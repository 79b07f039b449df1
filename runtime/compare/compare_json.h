// The result of a comparison as JSON, for programs.
#pragma once

#include <string>

#include "runtime/compare/compare_models.h"

namespace ampc {

// `ampc compare --json`; `a` and `b` are what the models are called.
std::string ComparisonJson(const std::string& a, const std::string& b, const ModelComparison& comparison);

}  // namespace ampc
