// The picture of `ampc tune --plot`: error against predicted time, a dot for each assignment that was run.
#pragma once

#include <string>

#include "runtime/tune/tune.h"

namespace ampc {

// One SVG; the same result gives the same bytes.
std::string TuneChart(const TuneResult& result);

}  // namespace ampc
