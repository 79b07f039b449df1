// Constants: the values that a program brings along (params, consts, states with a stored value).
#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/dtype.h"
#include "graph/base/host_tensor.h"
#include "graph/program.h"
#include "kernels/kernel_registry.h"
#include "kernels/weight_cache.h"
#include "runtime/plan/half_constant.h"
#include "runtime/plan/state_table.h"

namespace ampc {

// Values are in storage type, except large weights, which lie in memory as the halves that they are (f16, bf16): those whose readers pack
// them once or take halves.
class Constants {
 public:
  // Reads every weight that an op or a fetch of `program` names once, except those of variables in `states` (may be null). `kernels`: of
  // the CPU, by which halves stay; null: none does. Errors: a param without a stored value, dims that do not fit the bytes.
  static absl::StatusOr<Constants> Load(const Program& program, const StateTable* states = nullptr,
                                        const KernelRegistry* kernels = nullptr);
  // Null for a variable that has no value. A value lives as long as this object; moving it keeps addresses.
  const HostTensor* Find(const Var& var) const { return values_[var.id()].get(); }
  // A value that Find gave, in storage type, for as long as the result is held; every call gives the same address. Thread-safe.
  absl::StatusOr<std::shared_ptr<const HostTensor>> InStorage(const HostTensor* value) const;
  // All of them; null for a variable that has none.
  absl::Span<const std::shared_ptr<const HostTensor>> all() const { return values_; }
  // Declares what InStorage gives.
  void DeclareTo(WeightCache& cache) const;

 private:
  absl::Status Set(const Var& var, std::shared_ptr<const HostTensor> value, bool may_stay_half);

  std::vector<std::shared_ptr<const HostTensor>> values_;  // by Var::id; a literal is the program's own
  absl::flat_hash_map<const HostTensor*, std::shared_ptr<HalfConstant>> halves_;
};

// Whether a value that Constants::Find gave is a half.
inline bool IsHalf(const HostTensor* value) { return value != nullptr && IsLowPrecision(value->dtype()); }

}  // namespace ampc
