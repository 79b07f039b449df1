#include "tests/autodiff/gradient_case.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/bfloat16.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/status_macros.h"
#include "passes/pipeline.h"
#include "tests/testlib/parse_bare.h"

namespace ampc::testing {
namespace {

constexpr double kGrid = 1024;
constexpr double kReach = 3;  // steps that a value keeps from a kink, and six from its neighbours

struct Block {
  std::string title;
  int line = 0;
  std::vector<std::pair<int, std::string>> lines;
};

std::string TestName(absl::string_view text) {
  std::string name;
  for (const char c : text) name += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

absl::Status Wrong(int line, absl::string_view what) { return UsageError(absl::StrCat(line, ": ", what)); }

absl::StatusOr<std::vector<Block>> SplitBlocks(absl::string_view text) {
  std::vector<Block> blocks;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripTrailingAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    if (absl::ConsumePrefix(&line, "=== ")) {
      blocks.push_back({std::string(line), number, {}});
    } else if (blocks.empty()) {
      return Wrong(number, "needed '=== title' or a comment");
    } else {
      blocks.back().lines.emplace_back(number, line);
    }
  }
  if (blocks.empty()) return Wrong(number, "found no case, needed '=== title'");
  return blocks;
}

absl::StatusOr<std::vector<double>> Numbers(int line, const std::vector<std::string>& words, size_t from) {
  std::vector<double> out;
  for (size_t i = from; i < words.size(); ++i) {
    double value;
    if (!absl::SimpleAtod(words[i], &value)) return Wrong(line, absl::StrCat("found '", words[i], "', needed a number"));
    out.push_back(value);
  }
  return out;
}

// A line that says how to run the program; false for a line of the program itself.
absl::StatusOr<bool> ReadDirective(int line, const std::string& text, GradientCase* c) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  const std::string& what = words[0];
  if (words.size() < 2 || words[1] == "=" || words[1] == "<-") return false;
  if (what == "range" || what == "avoid" || what == "values") {
    FeedValues& feed = c->feeds[words[1]];
    AMPC_ASSIGN_OR_RETURN(std::vector<double> numbers, Numbers(line, words, 2));
    if (numbers.empty() || (what == "range" && numbers.size() != 2)) return Wrong(line, "too few numbers");
    if (what == "avoid")
      feed.avoid = std::move(numbers);
    else if (what == "values")
      feed.values = std::move(numbers);
    else {
      feed.low = numbers[0];
      feed.high = numbers[1];
      feed.ranged = true;
    }
    return true;
  }
  if (what == "distinct") {
    c->feeds[words[1]].distinct = true;
  } else if (what == "fixed") {
    c->fixed.assign(words.begin() + 1, words.end());
  } else if (what == "tolerance") {
    c->tolerance = words[1];
  } else if (what == "step") {
    AMPC_ASSIGN_OR_RETURN(const std::vector<double> numbers, Numbers(line, words, 1));
    c->step = numbers[0];
  } else {
    return false;
  }
  return true;
}

// `with` is the rest of a with line: a=1 b=2.
absl::StatusOr<GradientCase> Build(const Block& block, absl::string_view with) {
  GradientCase c;
  c.line = block.line;
  c.name = TestName(with.empty() ? block.title : absl::StrCat(block.title, " ", with));
  std::vector<std::pair<std::string, std::string>> words;
  for (absl::string_view pair : absl::StrSplit(with, ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> halves = absl::StrSplit(pair, absl::MaxSplits('=', 1));
    words.emplace_back(absl::StrCat("$", halves.first), absl::StrReplaceAll(halves.second, {{";", " "}}));
  }
  for (const auto& [number, line] : block.lines) {
    if (absl::StartsWith(line, "with ")) continue;
    const std::string text = absl::StrReplaceAll(line, words);
    AMPC_ASSIGN_OR_RETURN(const bool directive, ReadDirective(number, text, &c));
    if (!directive) absl::StrAppend(&c.program, text, "\n");
  }
  return c;
}

bool Keeps(double value, const FeedValues& feed, double step) {
  return std::none_of(feed.avoid.begin(), feed.avoid.end(), [&](double kink) { return std::abs(value - kink) < kReach * step; });
}

// Fewer than `n` where kinks leave hardly any room.
std::vector<double> Floats(const GradientCase& c, const FeedValues& feed, int64_t n, std::mt19937& random) {
  std::vector<double> values;
  const double width = feed.high - feed.low;
  for (int64_t tries = 0; static_cast<int64_t>(values.size()) < n && tries < 100 * n; ++tries) {
    const double at = feed.distinct ? (values.size() + 0.5) / n : random() * 0x1p-32;
    const double value = std::round((feed.low + width * at) * kGrid) / kGrid;
    if (feed.distinct || Keeps(value, feed, c.step)) values.push_back(value);
  }
  for (size_t i = values.size(); feed.distinct && i > 1; --i) std::swap(values[i - 1], values[random() % i]);
  return values;
}

std::vector<double> Integers(const FeedValues& feed, int64_t n, std::mt19937& random) {
  const double low = feed.ranged ? feed.low : 0, high = feed.ranged ? feed.high : 2;
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(low + random() % static_cast<int64_t>(high - low));
  return values;
}

template <typename T>
void Fill(const std::vector<double>& values, HostTensor* out) {
  absl::Span<T> to = out->mutable_values<T>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(values[i % values.size()]);
}

}  // namespace

absl::StatusOr<std::vector<GradientCase>> ParseGradientCases(absl::string_view text) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<Block> blocks, SplitBlocks(text));
  std::vector<GradientCase> cases;
  std::set<std::string> names;
  for (const Block& block : blocks) {
    std::vector<absl::string_view> runs;
    for (const auto& [number, line] : block.lines) {
      if (absl::StartsWith(line, "with ")) runs.push_back(absl::string_view(line).substr(5));
    }
    if (runs.empty()) runs.push_back("");
    for (absl::string_view with : runs) {
      AMPC_ASSIGN_OR_RETURN(GradientCase c, Build(block, with));
      if (!names.insert(c.name).second) return Wrong(block.line, absl::StrCat("a second case with the name ", c.name));
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

absl::StatusOr<HostTensor> MakeFeed(const GradientCase& c, const Var& feed) {
  const auto it = c.feeds.find(feed.name());
  const FeedValues how = it == c.feeds.end() ? FeedValues() : it->second;
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Create(feed.type.dtype, feed.type.dims));
  const int64_t n = out.num_elements();
  const bool is_float = IsFloat(out.dtype());
  if (is_float && how.distinct && (how.high - how.low) / std::max<int64_t>(n, 1) < 2 * kReach * c.step) {
    return UsageError(
        absl::StrCat("'", feed.name(), "': ", n, " distinct values need a range of ", n * 2 * kReach * c.step, " or a smaller step"));
  }
  std::mt19937 random(1 + feed.id());
  std::vector<double> values = how.values;
  if (values.empty()) values = is_float ? Floats(c, how, n, random) : Integers(how, n, random);
  if (n == 0) return out;
  if (values.empty()) return UsageError(absl::StrCat("'", feed.name(), "': the range has no place left beside what it avoids"));
  switch (out.dtype()) {
    case DType::kF32: Fill<float>(values, &out); break;
    case DType::kF64: Fill<double>(values, &out); break;
    case DType::kF16: Fill<Half>(values, &out); break;
    case DType::kBF16: Fill<BFloat16>(values, &out); break;
    case DType::kI32: Fill<int32_t>(values, &out); break;
    case DType::kI64: Fill<int64_t>(values, &out); break;
    case DType::kBool: Fill<bool>(values, &out); break;
    default:
      return UsageError(
          absl::StrCat("feed '", feed.name(), "' is ", ToString(feed.type), "; f32, f16, bf16, f64, i32, i64 or bool is needed"));
  }
  return out;
}

absl::StatusOr<Program> ParseTyped(const std::string& text) {
  absl::StatusOr<Program> program = ParseBare(text);
  if (!program.ok()) return program;
  PassContext ctx;
  AMPC_RETURN_IF_ERROR(RunPipeline(Pipeline().Add("infer-types"), {}, ctx, *program));
  return program;
}

}  // namespace ampc::testing
