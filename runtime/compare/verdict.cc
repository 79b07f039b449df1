#include "runtime/compare/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ampc {
namespace {

constexpr double kLeastNormalHalf = 0x1p-14;

std::string Number(double value) { return absl::StrFormat("%.3g", value); }

// Rows of probabilities: none below zero, each with the sum 1 up to what halves lose.
bool AreProbabilities(const std::vector<double>& values, size_t classes) {
  constexpr double kSlack = 0.02;
  for (size_t row = 0; row < values.size(); row += classes) {
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) {
      if (!(values[row + c] >= 0)) return false;
      sum += values[row + c];
    }
    if (std::abs(sum - 1) > kSlack) return false;
  }
  return true;
}

struct Classes {
  int64_t rows = 0, agreeing = 0, close = 0;
  double moved = 0;
};

Classes CompareClasses(const std::vector<double>& a, const std::vector<double>& b, size_t classes, double tie) {
  Classes found;
  for (size_t row = 0; row < a.size(); row += classes) {
    const auto first_a = a.begin() + static_cast<std::ptrdiff_t>(row), first_b = b.begin() + static_cast<std::ptrdiff_t>(row);
    const auto top_a = std::max_element(first_a, first_a + static_cast<std::ptrdiff_t>(classes)) - first_a;
    const auto top_b = std::max_element(first_b, first_b + static_cast<std::ptrdiff_t>(classes)) - first_b;
    ++found.rows;
    if (top_a == top_b) {
      ++found.agreeing;
    } else if (first_a[top_a] - first_a[top_b] <= tie) {
      ++found.close;
    }
    for (size_t c = 0; c < classes; ++c) found.moved += std::abs(a[row + c] - b[row + c]) / 2;
  }
  found.moved /= static_cast<double>(std::max<int64_t>(found.rows, 1));
  return found;
}

OutputVerdict JudgeClasses(const Classes& c, const OutputTolerance& tolerance) {
  const int64_t other = c.rows - c.agreeing - c.close, allowed = static_cast<int64_t>(tolerance.disagreeing * static_cast<double>(c.rows));
  OutputVerdict verdict{other <= allowed && c.moved <= tolerance.moved,
                        absl::StrCat("first class the same in ", c.agreeing, " of ", c.rows, " rows")};
  if (c.close > 0) absl::StrAppend(&verdict.why, ", as probable in ", c.close);
  if (allowed > 0 || other > 0) absl::StrAppend(&verdict.why, ", another in ", other, " of ", allowed, " allowed");
  absl::StrAppend(&verdict.why, "; moved ", Number(c.moved), " of ", Number(tolerance.moved));
  return verdict;
}

constexpr size_t kLeastMap = 1000;  // elements: of few, each one counts

// Decisions of maps: how many are others, of so many yes.
struct Decisions {
  int64_t yes = 0, other = 0, close = 0;
  double expected = 0, moved = 0;  // sums of probabilities
};

Decisions CompareDecisions(const std::vector<double>& a, const std::vector<double>& b, double tie) {
  Decisions found;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool yes = a[i] > 0.5, other = yes != (b[i] > 0.5), close = std::abs(a[i] - 0.5) <= tie;
    found.yes += yes ? 1 : 0;
    found.other += other && !close ? 1 : 0;
    found.close += other && close ? 1 : 0;
    found.expected += a[i];
    found.moved += std::abs(a[i] - b[i]);
  }
  return found;
}

OutputVerdict JudgeDecisions(const Decisions& d, const OutputTolerance& tolerance) {
  const int64_t allowed = static_cast<int64_t>(tolerance.disagreeing * static_cast<double>(d.yes));
  const double moved = d.moved / std::max(d.expected, 1.0);
  OutputVerdict verdict{d.other <= allowed && moved <= tolerance.moved,
                        absl::StrCat(d.yes, " elements say yes, another answer in ", d.other, " of ", allowed, " allowed")};
  if (d.close > 0) absl::StrAppend(&verdict.why, ", as probable in ", d.close);
  absl::StrAppend(&verdict.why, "; moved ", Number(moved), " of ", Number(tolerance.moved));
  return verdict;
}

OutputVerdict JudgeElements(const std::vector<double>& a, const std::vector<double>& b, double rtol, double atol) {
  int64_t outside = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= atol + rtol * std::abs(a[i]))) ++outside;
  }
  return {outside == 0, absl::StrCat(outside, " of ", a.size(), " elements beyond atol ", Number(atol), " + rtol ", Number(rtol))};
}

// The verdict's text if numbers say nothing; "" if they do.
std::string Degenerate(const HostTensor& a, const Difference& d) {
  if (a.num_elements() == 0) return "empty in both";
  if (d.both_non_finite == d.elements) return "nowhere finite in either: nothing can be said of it";
  if (d.largest_a == 0 && d.largest_b == 0 && d.both_non_finite == 0) return "all zero in both";
  return "";
}

}  // namespace

OutputVerdict JudgeOutput(const HostTensor& a, const HostTensor& b, const Difference& d, const JudgeOptions& options) {
  const auto also = [&](OutputVerdict verdict) {
    if (d.both_non_finite > 0) absl::StrAppend(&verdict.why, "; not finite in both: ", d.both_non_finite);
    if (d.largest_a == 0 && d.largest_b > 0) absl::StrAppend(&verdict.why, "; all zero in the first");
    if (d.largest_b == 0 && d.largest_a > 0) absl::StrAppend(&verdict.why, "; all zero in the second");
    const bool tiny = options.lowest == DType::kF16 && d.largest_a > 0 && d.largest_a < kLeastNormalHalf;
    if (!verdict.passed && tiny) {
      absl::StrAppend(&verdict.why, "; no value of it is above ", Number(d.largest_a),
                      ", where f16 has few bits or none: bf16 has them, or ops "
                      "that stay fp32 (--exclude)");
    }
    return verdict;
  };
  if (d.mismatched_non_finite > 0) return also({false, absl::StrCat("finite in one only: ", d.mismatched_non_finite, " of ", d.elements)});
  if (const std::string said = Degenerate(a, d); !said.empty()) return {d.both_non_finite == 0, said};
  if (options.rtol.has_value() || options.atol.has_value()) {
    return also(JudgeElements(ToDoubles(a), ToDoubles(b), options.rtol.value_or(0), options.atol.value_or(0)));
  }
  OutputTolerance tolerance = ToleranceOfOutputs(options.lowest);
  const size_t classes = a.rank() > 0 ? static_cast<size_t>(a.dims().back()) : 1;
  if (!options.of_largest.has_value() && classes > 1 && IsFloat(a.dtype())) {
    const std::vector<double> x = ToDoubles(a);
    if (AreProbabilities(x, classes)) return also(JudgeClasses(CompareClasses(x, ToDoubles(b), classes, tolerance.moved), tolerance));
  }
  const bool is_map = options.decisions && static_cast<size_t>(a.num_elements()) >= kLeastMap;
  if (!options.of_largest.has_value() && is_map && d.both_non_finite == 0) {
    return also(JudgeDecisions(CompareDecisions(ToDoubles(a), ToDoubles(b), tolerance.moved), tolerance));
  }
  tolerance.of_largest = options.of_largest.value_or(tolerance.of_largest);
  return also({d.max_rel <= tolerance.of_largest, absl::StrCat("max rel ", Number(d.max_rel), " of ", Number(tolerance.of_largest))});
}

}  // namespace ampc
