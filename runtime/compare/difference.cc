#include "runtime/compare/difference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "graph/base/dtype_switch.h"
#include "kernels/parallel.h"
#include "runtime/compare/partial_difference.h"

namespace ampc {
namespace {

constexpr int64_t kBlock = 1 << 16;  // elements of a partial result

PartialDifference PartialOf(const float* a, const float* b, int64_t n, const Spacing& spacing) {
  return DifferenceOfPart(a, b, n, spacing);
}
PartialDifference PartialOf(const double* a, const double* b, int64_t n, const Spacing& spacing) {
  PartialDifference p;
  for (int64_t i = 0; i < n; ++i) p.Add(a[i], b[i], spacing);
  return p;
}

void Add(const PartialDifference& part, PartialDifference* p) {
  p->max_abs = std::max(p->max_abs, part.max_abs);
  p->max_ulp = std::max(p->max_ulp, part.max_ulp);
  p->largest_a = std::max(p->largest_a, part.largest_a);
  p->largest_b = std::max(p->largest_b, part.largest_b);
  p->dot += part.dot;
  p->aa += part.aa;
  p->bb += part.bb;
  p->sum += part.sum;
  p->finite += part.finite;
  p->mismatched += part.mismatched;
  p->both += part.both;
}

double Relative(double difference, double largest) {
  return largest > 0 ? difference / largest : difference > 0 ? std::numeric_limits<double>::infinity() : 0;
}

template <class T>
Difference DifferenceOf(absl::Span<const T> a, absl::Span<const T> b, DType narrow, int threads) {
  const auto n = static_cast<int64_t>(std::min(a.size(), b.size())), blocks = (n + kBlock - 1) / kBlock;
  std::vector<PartialDifference> parts(static_cast<size_t>(blocks));
  const Spacing spacing(narrow);
  ParallelFor(threads, blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      parts[static_cast<size_t>(i)] = PartialOf(a.data() + i * kBlock, b.data() + i * kBlock, std::min(kBlock, n - i * kBlock), spacing);
    }
  });
  PartialDifference p;
  for (const PartialDifference& part : parts) Add(part, &p);
  Difference d;
  d.elements = n;
  d.max_abs = p.max_abs;
  d.max_rel = Relative(p.max_abs, p.largest_a);
  d.max_ulp = p.max_ulp;
  d.mean_rel = p.finite == 0 ? 0 : Relative(p.sum / static_cast<double>(p.finite), p.largest_a);
  d.cosine = p.aa > 0 && p.bb > 0 ? p.dot / (std::sqrt(p.aa) * std::sqrt(p.bb)) : p.aa == p.bb ? 1 : 0;
  d.largest_a = p.largest_a;
  d.largest_b = p.largest_b;
  d.mismatched_non_finite = p.mismatched;
  d.both_non_finite = p.both;
  return d;
}

template <typename T>
void AppendDoubles(const HostTensor& t, std::vector<double>& out) {
  for (const T& v : t.values<T>())
    out.push_back(static_cast<double>(static_cast<std::conditional_t<std::is_arithmetic_v<T>, T, float>>(v)));
}

}  // namespace

Difference Compare(absl::Span<const double> a, absl::Span<const double> b, DType narrow) { return DifferenceOf(a, b, narrow, 1); }

Difference Compare(absl::Span<const float> a, absl::Span<const float> b, DType narrow, int threads) {
  return DifferenceOf(a, b, narrow, threads);
}

Difference Compare(const HostTensor& a, const HostTensor& b, DType narrow) {
  const std::vector<double> x = ToDoubles(a), y = ToDoubles(b);
  Difference d = Compare(x, y, narrow);
  std::vector<double> differences;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (std::isfinite(x[i]) && std::isfinite(y[i])) differences.push_back(std::abs(x[i] - y[i]));
  }
  if (differences.empty()) return d;
  const auto at = differences.begin() + static_cast<std::ptrdiff_t>((differences.size() * 99 + 99) / 100 - 1);
  std::nth_element(differences.begin(), at, differences.end());
  d.p99_rel = Relative(*at, d.largest_a);
  return d;
}

std::vector<double> ToDoubles(const HostTensor& t) {
  std::vector<double> out;
  out.reserve(static_cast<size_t>(t.num_elements()));
  Select<AllTypes::With<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, ScaleFloat, Float4E2M1>>(
      t.dtype(), [&](auto tag) { AppendDoubles<typename decltype(tag)::type>(t, out); });
  if (!IsPacked(t.dtype()) || IsSmallFloat(t.dtype())) return out;
  for (const std::byte b : t.bytes()) out.push_back(IsSignedInteger(t.dtype()) ? static_cast<int8_t>(b) : static_cast<uint8_t>(b));
  return out;
}

}  // namespace ampc
