#include "passes/amp/protect/rules.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "passes/amp/protect/visit.h"

namespace ampc {
namespace {

constexpr Rule kRules[] = {
    {"protect.shape", "computed from shapes and constants alone", Direction::kReaders,
     "an op that reads a shape or makes integers from nothing", "pure ops of such values", "any other operand", false, Fact::kConstant,
     &ShapeRule},
    {"protect.constant", "reads a constant that the low type lacks", Direction::kHere,
     "an operand or an attribute that the low type has as zero, as infinity or with few bits", "", "", true, 0, &ConstantRule},
    {"protect.range", "reads a value beyond the range", Direction::kReaders, "a constant, a power or bounds beyond the range",
     "arithmetic, moves, minima, maxima and rectifiers", "a function with a bounded result; a product or convolution of weights", true,
     Fact::kLarge, &RangeRule},
    {"protect.eps", "reads a value that a constant keeps from zero", Direction::kReaders,
     "a constant that keeps a value from zero and is less than the low type has", "moves, roots, sums and products of such values",
     "what is steep at zero: a quotient, a logarithm, a power", true, Fact::kSmall, &EpsRule},
    {"protect.reciprocal", "reads a reciprocal beyond the range", Direction::kReaders,
     "a number divided by a value that such a constant keeps from zero", "moves, sums, factors",
     "the product with a value of ordinary size; a function with a bounded result", true, 0, &ReciprocalRule},
    {"protect.scaled", "reads a value that factors or weights make small", Direction::kReaders,
     "a factor or weights that make a value too small for the low type", "moves, further factors; after weights sums, roots and products",
     "a factor that takes it back; a sum with a value of ordinary size", true, 0, &ScaledRule},
    {"protect.power", "part of a product of many factors of one value", Direction::kHere, "a product of three or more factors of one value",
     "", "", true, 0, &PowerRule},
    {"protect.sum", "reads a sum beyond the range", Direction::kReaders,
     "a sum, an area or an exponential that may be beyond the range; what divides a matrix product by its length", "moves and sums",
     "what scales it back", true, Fact::kSummed, &SumRule},
    {"protect.statistics", "squares that are only averaged or summed", Direction::kReaders, "a square that only sums and means read",
     "sums, moves and scaling by constants", "a root, a bounded function, a product with another value", true, Fact::kSquare,
     &StatisticsRule},
    {"protect.moment", "part of a variance or covariance that is a difference of two moments, which may be all that their rounding leaves",
     Direction::kHere, "what takes a product of two means from the mean of the product, in windows or with weights too",
     "sums and products, with those of means that are multiplied with them", "a quotient; any other function", true, 0, &MomentRule},
    {"protect.loss", "part of a loss or of a mean over everything, which is scaled, logged and compared", Direction::kReaders,
     "a loss, and what reduces a value to one number", "arithmetic and moves", "any other function", true, Fact::kOfLoss, &LossRule},
    {"protect.area", "a width times a height, which may be beyond the range where they are not", Direction::kHere,
     "the product of two extents: differences of pieces of one tensor, or exponentials", "", "", true, 0, &AreaRule},
    {"protect.difference", "what is left of a feed may be much smaller than what it takes away", Direction::kHere,
     "what takes a large number or another piece from a feed, and the ops between", "", "", true, 0, &DifferenceRule},
    {"protect.overflow", "leaves the range for every input", Direction::kHere,
     "a result that is beyond the range for every input, through weights and declared ranges of feeds, too", "", "", true, 0,
     &OverflowRule},
    {"protect.bounds", "reaches beyond the range", Direction::kHere, "a result whose bounds are known and beyond the range", "", "", true,
     0, &BoundsCheckRule},
    {"protect.count", "computed from integers alone, which may be too large to be exact", Direction::kReaders,
     "a cast of integers of any size", "arithmetic on such values and constants", "a bounded function; any other operand", false,
     Fact::kWhole, &CountRule},
    {"protect.divisor", "divides by what was an integer, which may be beyond the range", Direction::kHere,
     "a quotient whose divisor was an integer of any size", "", "", true, 0, &DivisorRule},
    {"protect.distance", "an exponent, and its operands may be many times larger", Direction::kHere, "x - max(x) that becomes an exponent",
     "", "", true, 0, &DistanceRule},
    {"protect.index", "its result becomes an index, a shape or a loop count", Direction::kMakers,
     "an operand that is an index, a shape, a loop's count or condition, or a candidate to choose among", "every op that may become low",
     "a product or convolution, an op that stays fp32, a shape", true, 0, nullptr, &IndexRule},
    {"protect.scale", "its result becomes a scale or a zero point of integers", Direction::kMakers,
     "the scale or zero point of a quantisation", "every op that may become low",
     "the largest or smallest value, a sum, and what ends index", true, 0, nullptr, &ScaleRule},
    {kLogRule, "leads to a logarithm of small values", Direction::kMakers, "the operand of a logarithm that may be small",
     "every op; where that is most of the work, transforms alone", "what brings values to a size of their own", true, 0, nullptr, &LogRule},
    {"protect.angle", "becomes an angle or a remainder, where the error of a large value is a large error", Direction::kMakers,
     "an angle that may be large, what a remainder is taken of", "every op of one such value",
     "what brings values to a size of their own, a product with weights", true, 0, nullptr, &AngleRule},
    {"protect.coordinate", "becomes a coordinate in an image, where a small error reads other pixels", Direction::kMakers,
     "the coordinates at which an image is read", "every op of one such value",
     "what brings values to a size of their own, a product with weights", true, 0, nullptr, &CoordinateRule},
    {"protect.state", "part of the arithmetic that makes a loop's state from itself, iteration by iteration", Direction::kCycle,
     "arithmetic that makes a loop's state from the same state", "", "", true},
    {"protect.result", "a probability that is only fetched", Direction::kHere,
     "an ONNX model's softmax whose result is only moved and fetched", "moves", "any other reader", true, 0, nullptr, &ResultRule},
    {kMeasuredRule, "left the range in a run", Direction::kHere,
     "a value that reached the end of the range in the runs that ranges were measured in, or was mostly zero in the low type", "", "",
     true},
};

}  // namespace

absl::Span<const Rule> ProtectRules() { return kRules; }

const Rule* FindRule(absl::string_view id) {
  const auto rule = std::find_if(std::begin(kRules), std::end(kRules), [id](const Rule& row) { return row.id == id; });
  return rule == std::end(kRules) ? nullptr : rule;
}

std::string MarkText(const Rule& rule, absl::string_view text) { return absl::StrCat(rule.id, ": ", text); }

bool IsProtectMark(absl::string_view mark) { return absl::StartsWith(mark, kProtectPrefix); }

const Rule* RuleOfMark(absl::string_view mark, absl::string_view* text) {
  const size_t colon = mark.find(": ");
  if (colon == absl::string_view::npos || !IsProtectMark(mark)) return nullptr;
  *text = mark.substr(colon + 2);
  return FindRule(mark.substr(0, colon));
}

}  // namespace ampc
