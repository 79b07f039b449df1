#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/shape.h"
#include "runtime/compare/difference.h"
#include "tests/golden_ops/golden_case.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

std::string Describe(const HostTensor& t) { return absl::StrCat(Name(t.dtype()), " ", ShapeToString(t.dims())); }

double Largest(const std::vector<double>& values) {
  double largest = 0;
  for (const double v : values) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  return largest;
}

std::string DiffValues(const std::vector<double>& found, const std::vector<double>& needed, Tolerance tolerance) {
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!Near(found[i], needed[i], tolerance)) {
      return absl::StrCat("element ", i, " is ", found[i], ", needed ", needed[i], " within ", tolerance.abs, " + ", tolerance.rel,
                          " of itself");
    }
  }
  return "";
}

double Rounded(double value, DType to) {
  if (to == DType::kF16) return static_cast<float>(Half(static_cast<float>(value)));
  if (to == DType::kBF16) return static_cast<float>(BFloat16(static_cast<float>(value)));
  return value;
}

// Equal as numbers, zeros by sign too; any NaN is as good as another.
bool Same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)); }

}  // namespace

std::string DiffResult(const HostTensor& found, const HostTensor& needed, const std::string& op) {
  if (found.dtype() != needed.dtype() || found.dims() != needed.dims())
    return absl::StrCat("is ", Describe(found), ", needed ", Describe(needed));
  const std::vector<double> want = ToDoubles(needed);
  return DiffValues(ToDoubles(found), want, GoldenToleranceFor(op, needed.dtype(), Largest(want)));
}

std::string DiffLowResult(const HostTensor& found, const HostTensor& fp32, const std::string& op, DType low) {
  const DType type = fp32.dtype() == DType::kF32 ? found.dtype() : fp32.dtype();  // results in fp32 slots stay fp32
  if (found.dtype() != type || found.dims() != fp32.dims()) return absl::StrCat("is ", Describe(found), ", needed ", Describe(fp32));
  std::vector<double> have = ToDoubles(found), want = ToDoubles(fp32);
  for (double& v : want) v = Rounded(v, type);
  if (!RoundsFp32Exactly(op, low)) return DiffValues(have, want, GoldenToleranceFor(op, type == DType::kF32 ? low : type, Largest(want)));
  for (size_t i = 0; i < want.size(); ++i) {
    if (!Same(have[i], want[i])) return absl::StrCat("element ", i, " is ", have[i], ", fp32 rounded is ", want[i]);
  }
  return "";
}

}  // namespace ampc::testing
