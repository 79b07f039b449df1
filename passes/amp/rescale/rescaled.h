// Rescaled: the weights that a conversion multiplied by powers of two, as the converted model says them:
//
//   dtype=fp16;level=O2;rescale=true;rescaled=conv.w:-4,bn.mean:-4,bn.scale:4
//
// behind the options that it was made with (graph/converted.h), in every format. A power of two that neither over- nor underflows is taken
// back exactly, so that this is all that is kept of the original values.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"

namespace ampc {

struct Rescaled {
  std::map<std::string, int> exponents;  // by Var::exported, of stored values of the main block
};

// `options`, and behind them the record; nothing is added where nothing was rescaled.
std::string WithRescaled(std::string options, const Rescaled& rescaled);
// The record that the program carries; entries that are not understood are left out.
Rescaled RescaledOf(const Program& program);

// Multiplies the f32 values that travel with `var` by 2^exponent. They lie in memory then.
absl::Status ScaleStored(int exponent, Var& var);
// Takes it all back; names of no value are left out. Of values that were rounded since, what the rounding left is scaled back.
absl::Status TakeBack(const Rescaled& rescaled, Program& program);

}  // namespace ampc
