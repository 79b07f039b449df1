// where_index and masked_select: as many results as elements that count.
#include <cstring>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/kernel_registry.h"

namespace ampc {
namespace {

using Operands = absl::Span<const HostTensor* const>;

// Positions, in row-major order, of the elements that are not 0 (NaN is not).
std::vector<int64_t> Chosen(const HostTensor& t) {
  std::vector<int64_t> chosen;
  const bool exact = t.dtype() == DType::kI64;  // double does not hold every i64
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    if (exact ? ReadAsInt(t.data(), t.dtype(), i) != 0 : ReadAsDouble(t.data(), t.dtype(), i) != 0) chosen.push_back(i);
  }
  return chosen;
}

absl::StatusOr<std::vector<HostTensor>> WhereIndex(const Op&, Operands operands, int) {
  const HostTensor& condition = *operands[0];
  const std::vector<int64_t> chosen = Chosen(condition);
  const int rank = condition.rank();
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(DType::kI64, {static_cast<int64_t>(chosen.size()), rank}));
  int64_t* row = out.mutable_values<int64_t>().data();
  for (int64_t position : chosen) {
    for (int d = rank; d-- > 0;) {
      row[d] = position % condition.dims()[d];
      position /= condition.dims()[d];
    }
    row += rank;
  }
  std::vector<HostTensor> results;
  results.push_back(std::move(out));
  return results;
}

absl::StatusOr<std::vector<HostTensor>> MaskedSelect(const Op&, Operands operands, int) {
  const HostTensor& x = *operands[0];
  const std::vector<int64_t> chosen = Chosen(*operands[1]);
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(x.dtype(), {static_cast<int64_t>(chosen.size())}));
  const size_t size = SizeOf(x.dtype());
  std::byte* to = out.mutable_bytes().data();
  for (int64_t position : chosen) {
    std::memcpy(to, x.bytes().data() + static_cast<size_t>(position) * size, size);
    to += size;
  }
  std::vector<HostTensor> results;
  results.push_back(std::move(out));
  return results;
}

}  // namespace

absl::Status RegisterSelect(KernelRegistry* registry) {
  KernelEntry entry;
  entry.dtypes = MovableTypes();
  entry.op = "where_index";
  entry.evaluate = &WhereIndex;
  AMPC_RETURN_IF_ERROR(registry->Add(entry));
  entry.op = "masked_select";
  entry.evaluate = &MaskedSelect;
  return registry->Add(entry);
}

}  // namespace ampc
