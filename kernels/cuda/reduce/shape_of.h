// A plan that all devices share as the device takes it.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/cpu/base/axis_split.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/launch/any.h"
#include "kernels/cuda/launch/rows.h"
#include "kernels/cuda/reduce/reduce_shape.h"
#include "kernels/spec/reduce_plan.h"

namespace ampc::cuda {

// Unimplemented for more than kMaxLoops alternations of kept and reduced dimensions.
absl::StatusOr<ReduceShape> ShapeOf(const SpecView& view, const ReducePlan& plan);
absl::StatusOr<Loops> LoopsOf(const SpecView& view, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides);

inline AxisRows RowsOf(const AxisSplit& s) { return {s.outer, s.size, s.inner}; }
// Flat operand or result `i` of a run; null data where it is absent.
inline AnyInput InputOf(const SpecView& view, int i) { return {nullptr, i < 0 ? DType::kF32 : view.spec().inputs[i].dtype}; }
inline AnyInput At(AnyInput in, const KernelArgs& args, int i) { return {i < 0 ? nullptr : args.inputs[i], in.dtype}; }
inline AnyOutput OutputOf(const SpecView& view, int i) { return {nullptr, i < 0 ? DType::kF32 : view.spec().outputs[i].dtype}; }
inline AnyOutput At(AnyOutput out, const KernelArgs& args, int i) { return {i < 0 ? nullptr : args.outputs[i], out.dtype}; }

}  // namespace ampc::cuda
