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

// Only float values are such ones.
absl::Status Check(absl::string_view name, const TensorType& type, const void* data, int64_t n) {
  const DType storage = StorageType(type.dtype);
  Count bad;
  if (storage == DType::kF32) bad = CountBad(static_cast<const float*>(data), n);
  if (storage == DType::kF64) bad = CountBad(static_cast<const double*>(data), n);
  if (bad.first < 0) return absl::OkStatus();
  return NoError(absl::StrCat("'", name, "' (", ToString(type), ") has ", bad.nan, " NaN and ", bad.inf, " infinite values of ", n,
                              ", the first at element ", bad.first));
}

}  // namespace

absl::Status CheckFinite(const ObservedStep& step) {
  for (const ObservedValue& value : step.results) {
    const absl::Status finite =
        Check(value.var->name(), TensorType(value.desc.dtype, value.desc.dims), value.data, value.desc.NumElements());
    if (!finite.ok()) return NoError(absl::StrCat(Describe(*step.op), ": result ", finite.message()));
  }
  return absl::OkStatus();
}

absl::Status CheckFinite(absl::string_view name, DType dtype, const HostTensor& stored) {
  return Check(name, TensorType(dtype, Dims(stored.dims().begin(), stored.dims().end())), stored.data(), stored.num_elements());
}

}  // namespace ampc
