// unique: the distinct elements, or slices along an axis, of the operand.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/kernel_registry.h"

namespace ampc {
namespace {

using Operands = absl::Span<const HostTensor* const>;

// `count` slices of the operand, each `outer` times `inner` elements.
struct Slices {
  int64_t outer = 1, count = 0, inner = 1;
};

// Distinct slices by number: `first` is where each is first, in the order of the result.
struct Found {
  std::vector<int64_t> first, which, counts;
};

// NaN is above every number and equals itself.
template <typename T>
int Compare(const T* x, const Slices& s, int64_t a, int64_t b) {
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      const T va = x[(o * s.count + a) * s.inner + i], vb = x[(o * s.count + b) * s.inner + i];
      if (va < vb || (va == va && vb != vb)) return -1;
      if (vb < va || (vb == vb && va != va)) return 1;
    }
  }
  return 0;
}

template <typename T>
Found Find(const HostTensor& x, const Slices& s, bool sorted) {
  const T* data = static_cast<const T*>(x.data());
  std::vector<int64_t> order(s.count);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return Compare(data, s, a, b) < 0; });
  Found found;
  found.which.resize(s.count);
  for (int64_t i = 0; i < s.count; ++i) {
    if (i == 0 || Compare(data, s, order[i - 1], order[i]) != 0) {
      found.first.push_back(order[i]);
      found.counts.push_back(0);
    }
    found.which[order[i]] = static_cast<int64_t>(found.first.size()) - 1;
    ++found.counts.back();
  }
  if (sorted) return found;
  const int64_t n = static_cast<int64_t>(found.first.size());
  std::vector<int64_t> by_place(n), place(n);
  std::iota(by_place.begin(), by_place.end(), int64_t{0});
  std::sort(by_place.begin(), by_place.end(), [&](int64_t a, int64_t b) { return found.first[a] < found.first[b]; });
  Found out;
  for (int64_t i = 0; i < n; ++i) {
    place[by_place[i]] = i;
    out.first.push_back(found.first[by_place[i]]);
    out.counts.push_back(found.counts[by_place[i]]);
  }
  for (int64_t w : found.which) out.which.push_back(place[w]);
  return out;
}

absl::StatusOr<Found> Find(const Op& op, const HostTensor& x, const Slices& s, bool sorted) {
  std::optional<Found> found =
      Select<NumbersAndBool>(x.dtype(), [&](auto tag) { return std::make_optional(Find<typename decltype(tag)::type>(x, s, sorted)); });
  if (found.has_value()) return *std::move(found);
  return UnsupportedError(absl::StrCat(Describe(op), ": the cpu kernel has no ", Name(x.dtype())));
}

absl::StatusOr<std::vector<HostTensor>> Unique(const Op& op, Operands operands, int) {
  const HostTensor& x = *operands[0];
  const bool flat = op.GetBool("flatten");
  const int64_t axis = flat ? 0 : FromEnd(op.GetInt("axis"), x.rank());
  Slices s;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!flat && d != axis) (d < axis ? s.outer : s.inner) *= x.dims()[d];
  }
  s.count = flat ? x.num_elements() : x.dims()[axis];
  AMPC_ASSIGN_OR_RETURN(const Found found, Find(op, x, s, op.GetBool("is_sorted")));
  const int64_t n = static_cast<int64_t>(found.first.size());
  std::vector<int64_t> dims = flat ? std::vector<int64_t>{n} : std::vector<int64_t>(x.dims().begin(), x.dims().end());
  if (!flat) dims[axis] = n;
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(x.dtype(), dims));
  const int64_t bytes = s.inner * static_cast<int64_t>(SizeOf(x.dtype()));
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(out.mutable_bytes().data() + (o * n + i) * bytes, x.bytes().data() + (o * s.count + found.first[i]) * bytes, bytes);
    }
  }
  std::vector<HostTensor> results;
  results.push_back(std::move(out));
  const std::pair<const char*, const std::vector<int64_t>*> lists[] = {
      {"Indices", &found.first}, {"Index", &found.which}, {"Counts", &found.counts}};
  for (const auto& [slot, list] : lists) {
    if (op.output(slot) != nullptr) results.push_back(HostTensor::FromValues<int64_t>({static_cast<int64_t>(list->size())}, *list));
  }
  return results;
}

}  // namespace

absl::Status RegisterUnique(KernelRegistry* registry) {
  KernelEntry entry;
  entry.op = "unique";
  entry.dtypes = DeclaredTypes<NumbersAndBool>();
  entry.evaluate = &Unique;
  return registry->Add(std::move(entry));
}

}  // namespace ampc
