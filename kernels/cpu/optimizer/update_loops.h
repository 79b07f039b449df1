// Vector loops of the optimizers over runs of elements: the formulas of kernels/common/update_rules.h, operation by operation, so a
// result depends neither on the instruction set nor on the element's position. T is float or double.
#pragma once

#include <cstdint>

#include "kernels/common/update_rules.h"

namespace ampc::simd {

// The arrays of one run. A result may be its operand's array itself. Arrays that a rule does not use are null.
template <typename T>
struct UpdateRun {
  const T* param;  // the master weight where there is one
  const T* grad;
  const T* moment1;  // momentum: the velocity
  const T* moment2;
  T* param_out;
  T* copy_out;  // the new parameter once more: what is rounded to a low type beside a master weight; may be null
  T* moment1_out;
  T* moment2_out;
};

void Update(const SgdRule<float>& rule, const UpdateRun<float>& run, int64_t n);
void Update(const SgdRule<double>& rule, const UpdateRun<double>& run, int64_t n);
void Update(const MomentumRule<float>& rule, const UpdateRun<float>& run, int64_t n);
void Update(const MomentumRule<double>& rule, const UpdateRun<double>& run, int64_t n);
void Update(const AdamRule<float>& rule, const UpdateRun<float>& run, int64_t n);
void Update(const AdamRule<double>& rule, const UpdateRun<double>& run, int64_t n);
// Lamb in two sweeps, because its rate needs the norms. First the new moments, with the direction d in `direction`.
void LambMoments(const LambRule<float>& rule, const UpdateRun<float>& run, float* direction, int64_t n);
void LambMoments(const LambRule<double>& rule, const UpdateRun<double>& run, double* direction, int64_t n);
// Then p - rate * d from the new moments, which are moment1 and moment2 of this run.
void Update(const LambRule<float>& rule, const UpdateRun<float>& run, int64_t n);
void Update(const LambRule<double>& rule, const UpdateRun<double>& run, int64_t n);

}  // namespace ampc::simd
