// Casts that stand in the IR and not in every file, and the other way round.
//
// Some runtimes convert operands by themselves where an op gets another float type than its results are declared with. The IR has
// such a conversion as a cast marked inserted("implicit") right in front of its only reader; a format whose runtime does it leaves
// it out, and the reader names the cast's source. A cast marked inserted("listed") is one that the file has and the IR does not
// need: the control op behind it lists its result in the place of its source, which the body reads all the same.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "graph/op.h"

namespace ampc {

inline constexpr absl::string_view kImplicitCast = "implicit";
inline constexpr absl::string_view kListedCast = "listed";

inline bool IsImplicitCast(const Op& op) { return op.marks.amp == AmpMark::kInserted && op.marks.amp_reason == kImplicitCast; }
inline bool IsListedCast(const Op& op) { return op.marks.amp == AmpMark::kInserted && op.marks.amp_reason == kListedCast; }

// Makes `op`, which does not agree with its declared results, agree by converting its f32 and low operands to the float type of
// those: returns the casts, in `op`'s block and to be put in front of it, and lets `op` read them. Returns none and leaves `op` alone
// where it agrees already or that does not help. `result(source, type)` gives a temp of `op`'s block for a cast to define.
using CastResult = std::function<Var*(const Var& source, DType type)>;
std::vector<std::unique_ptr<Op>> MakeImplicitCasts(Op& op, const CastResult& result);

}  // namespace ampc
