// Integer attributes of every record, at the ends of their types: refused, or the right result. A model that runs is measured by the line
// of attributes.txt that speaks of its attribute: what it gives is compared with what other values give. So an attribute that goes through
// a float or a shorter integer on its way to the kernel is found: its value arrives as another one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/fnv.h"
#include "tests/extreme/sweep.h"

namespace ampc::extreme {
namespace {

#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr int kTries = 4;  // models of each op that may run unchanged; the first that does is the one

// 2^24 + 1 is no float, 2^53 + 1 no double, 2^32 + 1 no int32.
template <typename T>
std::vector<int64_t> Extremes() {
  constexpr int64_t kMost = std::numeric_limits<T>::max(), kLeast = std::numeric_limits<T>::min();
  if (sizeof(T) == 4) return {kLeast, kMost, (1 << 24) + 1};
  return {kLeast, kMost, (int64_t{1} << 32) + 1, (int64_t{1} << 53) + 1, int64_t{1} << 62};
}

// An attribute of a model that runs, or one element of a list.
struct AttrTarget {
  OddModel model;
  std::string attr;
  AttrValue usual;  // of the attribute; a list with as many elements as are tried
  size_t element = 0;

  OddModel With(int64_t value) const {
    OddModel changed = model;
    std::erase_if(changed.attrs, [this](const Attr& a) { return a.name == attr; });
    AttrValue to = usual;
    std::visit(
        [&](auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>) v = static_cast<T>(value);
          if constexpr (std::is_same_v<T, std::vector<int32_t>> || std::is_same_v<T, std::vector<int64_t>>) {
            v[element] = static_cast<typename T::value_type>(value);
          }
        },
        to);
    changed.attrs.push_back({attr, to});
    changed.changes = {absl::StrCat(attr, "[", element, "]=", value)};
    return changed;
  }
  bool IsLong() const { return std::holds_alternative<int64_t>(usual) || std::holds_alternative<std::vector<int64_t>>(usual); }
};

template <typename T>
void AddLists(const AttrTarget& target, std::vector<T> list, std::vector<AttrTarget>* out) {
  std::vector<std::vector<T>> lists = {list};
  if (list.empty()) {
    const int rank = target.model.slots.empty() || target.model.slots[0].empty() ? 1 : target.model.slots[0][0].value.rank();
    lists.clear();
    for (const int n : std::set<int>{1, rank - 2, rank, 2 * rank - 4, 2 * rank}) {
      if (n > 0) lists.emplace_back(n, T{1});
    }
  }
  for (const std::vector<T>& usual : lists) {
    for (const size_t element : std::set<size_t>{0, usual.size() - 1}) {
      out->push_back(target);
      out->back().usual = usual;
      out->back().element = element;
    }
  }
}

void AddTargets(const OddModel& model, std::vector<AttrTarget>* out) {
  for (const AttrDef& def : model.def->attrs) {
    if (def.extra) continue;
    AttrTarget target{model, def.name, def.value};
    for (const Attr& given : model.attrs) {
      if (given.name == def.name) target.usual = given.value;
    }
    if (std::holds_alternative<int32_t>(target.usual) || std::holds_alternative<int64_t>(target.usual)) out->push_back(target);
    if (const auto* list = std::get_if<std::vector<int32_t>>(&target.usual)) AddLists(target, *list, out);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&target.usual)) AddLists(target, *list, out);
  }
}

SweepResult SweepOver(const std::vector<OddModel>& models) {
  SweepOptions options;
  options.count = static_cast<int64_t>(models.size());
  if (kSanitized) options.memory_bytes = 0;
  options.model = [&models](int64_t index) { return models[static_cast<size_t>(index)]; };
  return Sweep(options);
}

// Random ops draw the same values again and again.
void Seed(OddModel* model) {
  const AttrDef* seed = model->def->FindAttr("seed");
  for (const Attr& given : model->attrs) seed = given.name == "seed" ? nullptr : seed;
  if (seed == nullptr) return;
  if (std::holds_alternative<float>(seed->value)) model->attrs.push_back({"seed", 7.0f});
  if (std::holds_alternative<int32_t>(seed->value)) model->attrs.push_back({"seed", int32_t{7}});
  if (std::holds_alternative<int64_t>(seed->value)) model->attrs.push_back({"seed", int64_t{7}});
}

std::vector<AttrTarget> AllTargets() {
  std::vector<OddModel> models;
  std::vector<const OpDef*> ops = TriedOps();
  if (const char* only = std::getenv("AMPC_EXTREME_ONLY"); only != nullptr) {
    std::erase_if(ops, [only](const OpDef* def) { return !std::regex_search(def->name, std::regex(only)); });
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    for (size_t t = 0; t < kTries; ++t) {
      Choices choices(Fnv1a(ops[i]->name) + t);
      models.push_back(MakeModel(*ops[i], 0, choices));
      Seed(&models.back());
    }
  }
  const SweepResult result = SweepOver(models);
  std::vector<AttrTarget> targets;
  for (size_t i = 0; i < ops.size(); ++i) {
    size_t t = 0;
    while (t < kTries && !result.outcomes[kTries * i + t].ran) ++t;
    if (t < kTries) AddTargets(models[kTries * i + t], &targets);
  }
  return targets;
}

// OP ATTRIBUTE RULE [NUMBERS], the first two regular expressions of the whole name.
struct Line {
  std::string text;
  std::regex op, attr;
  std::string rule;
  std::vector<int64_t> numbers;
  mutable bool used = false;
};

std::vector<Line> ReadLines() {
  std::vector<Line> lines;
  for (const std::string& text : ReadList("tests/extreme/attributes.txt")) {
    const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
    Line line{text, std::regex(words.at(0)), std::regex(words.at(1)), words.at(2), {}};
    for (size_t i = 3; i < words.size(); ++i) EXPECT_TRUE(absl::SimpleAtoi(words[i], &line.numbers.emplace_back())) << text;
    lines.push_back(line);
  }
  return lines;
}

// A model that ran, and the values that its result is to be compared with.
struct Compared {
  const AttrTarget* target;
  const Line* line;
  int64_t value;
  Outcome outcome;
  std::vector<int64_t> with;
};

// The value that the rule compares the result of `value` with.
std::vector<int64_t> Relatives(const Line& line, int64_t value) {
  if (line.rule == "flag") return {1};
  if (line.rule == "clamps") return {line.numbers.at(value < 0 ? 1 : 0)};
  if (line.rule == "modulo") return {(value % line.numbers.at(0) + line.numbers.at(0)) % line.numbers.at(0)};
  if (line.rule == "seeds") return {value ^ 1, static_cast<int32_t>(value) == value ? value ^ 2 : int64_t{static_cast<int32_t>(value)}};
  return {};
}

std::string Check(const Compared& c, const Outcome& usual, const std::vector<Outcome>& relatives) {
  const auto same = [&](const Outcome& other) { return other.ran && other.results == c.outcome.results; };
  if (c.line->rule == "ignored") return same(usual) ? "" : "changes the result";
  if (c.line->rule == "appears") return c.outcome.first == c.value ? "" : absl::StrCat("appears as ", c.outcome.first);
  if (c.line->rule == "untold") return "";
  for (size_t i = 0; i < relatives.size(); ++i) {
    if (same(relatives[i]) != (c.line->rule != "seeds"))
      return absl::StrCat(same(relatives[i]) ? "gives what " : "does not give what ", c.with[i], " gives");
  }
  return relatives.empty() ? absl::StrCat("there is no rule '", c.line->rule, "'") : "";
}

TEST(IntegerAttributes, AreRefusedOrReadToTheLastBit) {
  if (kSanitized) GTEST_SKIP() << "the plain build does this";
  const std::vector<AttrTarget> targets = AllTargets();
  std::vector<OddModel> models;
  std::vector<std::pair<const AttrTarget*, int64_t>> tried;
  for (const AttrTarget& target : targets) {
    for (const int64_t value : target.IsLong() ? Extremes<int64_t>() : Extremes<int32_t>()) {
      models.push_back(target.With(value));
      tried.emplace_back(&target, value);
    }
  }
  const SweepResult result = SweepOver(models);
  for (const Failure& failure : result.failures) ADD_FAILURE() << failure.model << "\n" << failure.stage << ": " << failure.what;

  const std::vector<Line> lines = ReadLines();
  std::vector<Compared> compared;
  models.clear();
  for (size_t i = 0; i < tried.size(); ++i) {
    if (!result.outcomes[i].ran) continue;
    const auto [target, value] = tried[i];
    const Line* line = nullptr;
    for (const Line& candidate : lines) {
      if (std::regex_match(target->model.def->name, candidate.op) && std::regex_match(target->attr, candidate.attr)) {
        line = &candidate;
        break;
      }
    }
    if (line == nullptr) {
      ADD_FAILURE() << target->model.def->name << " " << target->attr << " = " << value << " at " << target->element
                    << ": ran, and no line of attributes.txt says what is right";
      continue;
    }
    line->used = true;
    compared.push_back({target, line, value, result.outcomes[i], Relatives(*line, value)});
    models.push_back(target->model);
    for (const int64_t other : compared.back().with) models.push_back(target->With(other));
  }
  const SweepResult others = SweepOver(models);
  size_t at = 0;
  for (const Compared& c : compared) {
    const Outcome usual = others.outcomes[at++];
    const std::vector<Outcome> relatives(others.outcomes.begin() + static_cast<std::ptrdiff_t>(at),
                                         others.outcomes.begin() + static_cast<std::ptrdiff_t>(at + c.with.size()));
    at += c.with.size();
    const std::string why = Check(c, usual, relatives);
    EXPECT_EQ(why, "") << c.target->model.def->name << " " << c.target->attr << " = " << c.value << " at " << c.target->element << " ("
                       << c.line->text << ")";
  }
  for (const Line& line : lines)
    EXPECT_TRUE(line.used || std::getenv("AMPC_EXTREME_ONLY") != nullptr) << "no model that runs needs the line '" << line.text << "'";
  RecordProperty("targets", static_cast<int>(targets.size()));
  std::printf("%zu targets, %zu models, %zu of them ran\n", targets.size(), tried.size(), compared.size());
}

}  // namespace
}  // namespace ampc::extreme
