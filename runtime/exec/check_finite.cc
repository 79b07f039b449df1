#include "runtime/exec/check_finite.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

struct Count {
  int64_t nan = 0, inf = 0, first = -1;
};

template <typename T>
Count CountBad(const T* data, int64_t n) {
  Count count;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isfinite(data[i])) continue;
    (std::isnan(data[i]) ? count.nan : count.inf) += 1;
    if (count.first < 0) count.first = i;
  }
  return count;
}

// Only float results have such values.
absl::Status CheckResult(const ObservedStep& step, const ObservedValue& value) {
  const DType storage = StorageType(value.desc.dtype);
  const int64_t n = value.desc.NumElements();
  Count bad;
  if (storage == DType::kF32) bad = CountBad(static_cast<const float*>(value.data), n);
  if (storage == DType::kF64) bad = CountBad(static_cast<const double*>(value.data), n);
  if (bad.first < 0) return absl::OkStatus();
  return NoError(absl::StrCat("step ", step.index, ": ", Describe(*step.op), ": result '", value.var->name(), "' (",
                              ToString(TensorType(value.desc.dtype, value.desc.dims)), ") has ", bad.nan, " NaN and ", bad.inf,
                              " infinite values of ", n, ", the first at element ", bad.first));
}

}  // namespace

absl::Status CheckFinite(const ObservedStep& step) {
  for (const ObservedValue& value : step.results) AMPC_RETURN_IF_ERROR(CheckResult(step, value));
  return absl::OkStatus();
}

}  // namespace ampc
