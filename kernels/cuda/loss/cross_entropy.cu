#include "kernels/cuda/loss/cross_entropy.h"

#include <cmath>
#include <limits>

#include "kernels/cuda/launch/kept_row.h"

namespace ampc::cuda {
namespace {

// The offset of the label of class c of row r if there is one for each class.
AMPC_DEVICE inline int64_t SoftAt(const AxisRows& rows, int64_t r, int64_t c) { return rows.First(r) + c * rows.inner; }

AMPC_DEVICE inline double FiniteLog(double probability) {
  const double v = std::log(probability);
  return std::isinf(v) ? (v > 0 ? 1e20 : -1e20) : v;
}

template <class T>
struct CrossEntropyRow {
  using C = ComputeType<T>;
  CrossEntropyParams p;
  bool packs, keep;

  // The operands of the loss of a class.
  struct Row1 {
    C max;
    double sum, log_sum;
  };

  // x is one logit (or probability) of the row.
  AMPC_DEVICE double LossOf(const Row1& row, C x) const {
    if (p.normalise && p.stable) return row.log_sum - static_cast<double>(x - row.max);
    return -FiniteLog(static_cast<double>(p.normalise ? std::exp(x - row.max) / static_cast<C>(row.sum) : x));
  }

  template <class Team>
  AMPC_DEVICE Row1 Normalise(Team& team, const KeptRow<T>& x) const {
    const int64_t n = p.rows.size;
    Row1 row;
    row.max = LargestOfRow<T>(team, x, n, packs);
    row.sum = ReduceRow<T>(
        team, n, packs, 0.0,
        [&](int64_t i, auto width) {
          const auto v = x.Again(i, width);
          C part = 0;
          for (int k = 0; k < width.value; ++k) part += std::exp(v.v[k] - row.max);
          return static_cast<double>(part);
        },
        Plus());
    row.log_sum = std::log(row.sum);
    return row;
  }

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t r) const {
    const int64_t n = p.rows.size, at = p.rows.First(r);
    const Row<const T> in{static_cast<const T*>(p.x) + at, p.rows.inner};
    const KeptRow<T> x(team, in, n, keep && p.normalise);
    const Row1 row = p.normalise ? Normalise(team, x) : Row1{0, 1, 0};
    if (p.soft) {
      const double loss = team.Reduce(
          n, 0.0,
          [&](int64_t c) {
            const double label = p.label.GetFloat(SoftAt(p.rows, r, c));
            return label != 0 ? label * LossOf(row, in.Get(c, Width<1>()).v[0]) : 0.0;
          },
          Plus());
      team.Once([&] { p.loss.Set(r, loss); });
    } else {
      team.Once([&] {
        const int64_t label = p.label.template Get<int64_t>(r);
        const bool known = label >= 0 && label < n;
        const double loss = known ? LossOf(row, in.Get(label, Width<1>()).v[0]) : std::numeric_limits<double>::quiet_NaN();
        p.loss.Set(r, label == p.ignore ? 0.0 : loss);
      });
    }
    if (p.softmax == nullptr) return;
    const Row<T> out{static_cast<T*>(p.softmax) + at, p.rows.inner};
    const C sum = static_cast<C>(row.sum);
    ForRow<T>(team, n, packs, [&](int64_t i, auto width) {
      auto v = x.Again(i, width);
      for (int k = 0; k < width.value && p.normalise; ++k) v.v[k] = std::exp(v.v[k] - row.max) / sum;
      out.Set(i, v);
    });
  }
};

template <class T>
struct CrossEntropyGradientRow {
  using C = ComputeType<T>;
  CrossEntropyParams p;
  bool packs;

  template <class Team>
  AMPC_DEVICE void operator()(Team& team, int64_t r) const {
    const int64_t at = p.rows.First(r);
    const Row<const T> x{static_cast<const T*>(p.x) + at, p.rows.inner};
    const Row<T> out{static_cast<T*>(p.dx) + at, p.rows.inner};
    const C g = p.g.template Get<C>(r);
    if (p.soft) {
      Soft(team, r, x, out, g);
    } else {
      Hard(team, x, out, g, p.label.template Get<int64_t>(r));
    }
  }

  template <class Team>
  AMPC_DEVICE void Hard(Team& team, const Row<const T>& x, const Row<T>& out, C g, int64_t label) const {
    const bool ignored = label == p.ignore;
    const bool unknown = !ignored && (label < 0 || label >= p.rows.size);
    const bool zero = ignored || g == 0;
    ForRow<T>(team, p.rows.size, packs, [&](int64_t i, auto width) {
      auto v = x.Get(i, width);
      for (int k = 0; k < width.value; ++k) {
        const bool hit = i + k == label;
        if (unknown) {
          v.v[k] = std::numeric_limits<C>::quiet_NaN();
        } else if (p.normalise) {
          v.v[k] = zero ? C(0) : hit ? v.v[k] * g - g : v.v[k] * g;
        } else {
          v.v[k] = hit && !ignored ? -g / v.v[k] : C(0);
        }
      }
      out.Set(i, v);
    });
  }

  template <class Team>
  AMPC_DEVICE void Soft(Team& team, int64_t r, const Row<const T>& x, const Row<T>& out, C g) const {
    const auto label = [&](int64_t c) { return p.label.GetFloat(SoftAt(p.rows, r, c)); };
    const C total = static_cast<C>(team.Reduce(p.rows.size, 0.0, label, Plus()));
    ForRow<T>(team, p.rows.size, packs, [&](int64_t i, auto width) {
      auto v = x.Get(i, width);
      for (int k = 0; k < width.value; ++k) {
        const C l = static_cast<C>(label(i + k));
        v.v[k] = p.normalise ? g * (v.v[k] * total - l) : l == 0 ? C(0) : -g * l / v.v[k];
      }
      out.Set(i, v);
    });
  }
};

template <class T>
int Launch(void* stream, const CrossEntropyParams& p) {
  const bool packs = p.rows.inner == 1 && PacksFit<T>(p.rows.size, {p.x, p.softmax});
  const int shared = p.normalise ? KeptRowBytes<T>(p.rows.size, 1) : 0;
  return ForEachRow(stream, p.rows.rows(), p.rows.size, p.rows.inner > 1, shared, CrossEntropyRow<T>{p, packs, shared > 0});
}

template <class T>
int LaunchGradient(void* stream, const CrossEntropyParams& p) {
  const bool packs = p.rows.inner == 1 && PacksFit<T>(p.rows.size, {p.x, p.dx});
  return ForEachRow(stream, p.rows.rows(), p.rows.size, p.rows.inner > 1, 0, CrossEntropyGradientRow<T>{p, packs});
}

}  // namespace

int LaunchCrossEntropy(void* stream, const CrossEntropyParams& p) {
  return VisitFloat(p.dtype, [&](auto tag) { return Launch<typename decltype(tag)::Type>(stream, p); });
}

int LaunchCrossEntropyGradient(void* stream, const CrossEntropyParams& p) {
  return VisitFloat(p.dtype, [&](auto tag) { return LaunchGradient<typename decltype(tag)::Type>(stream, p); });
}

}  // namespace ampc::cuda
