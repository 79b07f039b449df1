#include "kernels/cuda/reduce/cumulate.h"

#include <type_traits>

#include "kernels/common/integer.h"

namespace ampc::cuda {
namespace {

template <class Acc>
AMPC_DEVICE Acc Accumulate(bool product, Acc a, Acc b) {
  if constexpr (std::is_integral_v<Acc>) return product ? integer::Mul(a, b) : integer::Add(a, b);
  return product ? a * b : a + b;
}

template <class T>
using AccOf = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

enum class Stage { kTotals, kResults };

// A slice of a row: its total, or its results behind `parts`, which then holds what comes before each slice.
template <class T, Stage stage>
struct CumulateSlice {
  using Acc = AccOf<T>;
  CumulateParams p;
  Acc* parts;  // null: one slice

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t t) const {
    const int64_t at = p.rows.First(t / p.slices), first = t % p.slices * p.slice, rest = p.rows.size - first;
    const int64_t n = rest < p.slice ? rest : p.slice;
    const T* x = static_cast<const T*>(p.x) + at;
    T* out = static_cast<T*>(p.out) + at;
    const bool product = p.product;
    const auto place = [&](int64_t i) { return (p.reverse ? p.rows.size - 1 - first - i : first + i) * p.rows.inner; };
    const auto load = [&](int64_t i) { return static_cast<Acc>(Load(x[place(i)])); };
    const auto join = [product](Acc a, Acc b) { return Accumulate(product, a, b); };
    const Acc identity = product ? 1 : 0;
    if constexpr (stage == Stage::kTotals) {
      const Acc total = team.Reduce(n, identity, load, join);
      team.Once([&] { parts[t] = total; });
    } else {
      const Acc carry = parts == nullptr ? identity : parts[t];
      team.Scan(n, identity, load, join, [&](int64_t i, Acc before, Acc after) {
        Store(out[place(i)], static_cast<ComputeType<T>>(join(carry, p.exclusive ? before : after)));
      });
    }
  }
};

// The totals of a row's slices become what comes before each.
template <class Acc>
struct CarrySlices {
  int64_t slices;
  bool product;
  Acc* parts;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t row) const {
    Acc* at = parts + row * slices;
    const bool is_product = product;
    team.Scan(
        slices, static_cast<Acc>(product ? 1 : 0), [&](int64_t i) { return at[i]; },
        [is_product](Acc a, Acc b) { return Accumulate(is_product, a, b); }, [&](int64_t i, Acc before, Acc) { at[i] = before; });
  }
};

template <class T>
int Launch(void* stream, const CumulateParams& p) {
  using Acc = AccOf<T>;
  const int64_t rows = p.rows.rows();
  if (p.slices == 1) {
    return ForEachRow(stream, rows, p.rows.size, p.rows.inner > 1, 0, CumulateSlice<T, Stage::kResults>{p, nullptr});
  }
  Acc* parts = static_cast<Acc*>(p.workspace);
  int rc = ForEachTeam(stream, rows * p.slices, p.slice, CumulateSlice<T, Stage::kTotals>{p, parts});
  if (rc == 0) rc = ForEachTeam(stream, rows, p.slices, CarrySlices<Acc>{p.slices, p.product, parts});
  return rc != 0 ? rc : ForEachTeam(stream, rows * p.slices, p.slice, CumulateSlice<T, Stage::kResults>{p, parts});
}

// x -> factor * x + sum, composed left to right.
struct Affine {
  double factor, sum;
};

// See kernels/cpu/gradient/cumulate.cc for the formula.
template <class T>
struct ProductGradientRow {
  ProductGradientParams p;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t row) const {
    const int64_t at = p.rows.First(row), inner = p.rows.inner, size = p.rows.size;
    const auto in = [&](const void* from, int64_t i) { return static_cast<double>(Load(static_cast<const T*>(from)[at + i * inner])); };
    const auto set = [&](int64_t i, double v) { Store(static_cast<T*>(p.dx)[at + i * inner], static_cast<ComputeType<T>>(v)); };
    const int64_t zero = team.Reduce(
        size, size, [&](int64_t i) { return in(p.x, i) == 0 ? i : size; }, [](int64_t a, int64_t b) { return a < b ? a : b; });
    team.Scan(
        zero, 0.0, [&](int64_t k) { return in(p.g, zero - 1 - k) * in(p.out, zero - 1 - k); }, Plus(),
        [&](int64_t k, double, double after) { set(zero - 1 - k, after / in(p.x, zero - 1 - k)); });
    if (zero == size) return;
    team.For(size - zero - 1, [&](int64_t k) { set(zero + 1 + k, 0); });
    const double before = team.Reduce(
        zero, 1.0, [&](int64_t i) { return in(p.x, i); }, [](double a, double b) { return a * b; });
    team.Scan(
        size - zero, Affine{1, 0},
        [&](int64_t k) {
          const double factor = k == 0 ? before : in(p.x, zero + k);
          return Affine{factor, in(p.g, zero + k) * factor};
        },
        [](Affine a, Affine b) {
          return Affine{a.factor * b.factor, a.sum + a.factor * b.sum};
        },
        [&](int64_t k, Affine, Affine after) {
          if (k == size - zero - 1) set(zero, after.sum);
        });
  }
};

template <class T>
int LaunchProductGradient(void* stream, const ProductGradientParams& p) {
  return ForEachRow(stream, p.rows.rows(), p.rows.size, p.rows.inner > 1, 0, ProductGradientRow<T>{p});
}

}  // namespace

int LaunchCumulate(void* stream, const CumulateParams& p) {
  if (p.dtype == DType::kI32) return Launch<int32_t>(stream, p);
  if (p.dtype == DType::kI64) return Launch<int64_t>(stream, p);
  return VisitFloat(p.dtype, [&](auto tag) { return Launch<typename decltype(tag)::Type>(stream, p); });
}

int LaunchCumulativeProductGradient(void* stream, const ProductGradientParams& p) {
  return VisitFloat(p.dtype, [&](auto tag) { return LaunchProductGradient<typename decltype(tag)::Type>(stream, p); });
}

}  // namespace ampc::cuda
