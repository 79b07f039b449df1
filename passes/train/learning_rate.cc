#include "passes/train/learning_rate.h"

#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

template <typename T>
absl::StatusOr<std::vector<T>> Numbers(absl::string_view text, absl::string_view whole) {
  std::vector<T> out;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    T value;
    bool ok;
    if constexpr (std::is_same_v<T, double>) {
      ok = absl::SimpleAtod(part, &value);
    } else {
      ok = absl::SimpleAtoi(part, &value);
    }
    if (!ok) return UsageError(absl::StrCat("learning rate '", whole, "': found '", part, "', needs a number"));
    out.push_back(value);
  }
  return out;
}

absl::Status NeedCount(size_t found, size_t least, size_t most, absl::string_view what, absl::string_view whole) {
  if (found >= least && found <= most) return absl::OkStatus();
  return UsageError(absl::StrCat("learning rate '", whole, "': ", what));
}

absl::StatusOr<int64_t> Steps(double number, absl::string_view whole) {
  if (number >= 0 && number < 0x1p53 && number == static_cast<double>(static_cast<int64_t>(number))) return static_cast<int64_t>(number);
  return UsageError(absl::StrCat("learning rate '", whole, "': found ", number, " steps, needs a count"));
}

absl::StatusOr<LearningRate> ParseRule(absl::string_view text, absl::string_view whole) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts[0] == "piecewise") {
    AMPC_RETURN_IF_ERROR(
        NeedCount(parts.size(), 3, 3, "piecewise needs boundaries and values, as in piecewise:1000,2000:0.1,0.01,0.001", whole));
    AMPC_ASSIGN_OR_RETURN(std::vector<int64_t> boundaries, Numbers<int64_t>(parts[1], whole));
    AMPC_ASSIGN_OR_RETURN(std::vector<double> values, Numbers<double>(parts[2], whole));
    return LearningRate::Piecewise(std::move(boundaries), std::move(values));
  }
  if (parts[0] == "cosine") {
    AMPC_RETURN_IF_ERROR(NeedCount(parts.size(), 2, 2, "cosine needs a rate and steps, as in cosine:0.1,10000", whole));
    AMPC_ASSIGN_OR_RETURN(const std::vector<double> n, Numbers<double>(parts[1], whole));
    AMPC_RETURN_IF_ERROR(NeedCount(n.size(), 2, 3, "cosine needs a rate and steps, as in cosine:0.1,10000", whole));
    AMPC_ASSIGN_OR_RETURN(const int64_t steps, Steps(n[1], whole));
    return LearningRate::Cosine(n[0], steps, n.size() == 3 ? n[2] : 0);
  }
  double constant;
  if (parts.size() == 1 && absl::SimpleAtod(text, &constant)) return LearningRate(constant);
  return UsageError(absl::StrCat("learning rate '", whole, "': found '", text, "', needs a number, piecewise:... or cosine:..."));
}

}  // namespace

LearningRate LearningRate::Piecewise(std::vector<int64_t> boundaries, std::vector<double> values) {
  LearningRate lr(0);
  lr.rule_.kind = "piecewise";
  lr.rule_.boundaries = std::move(boundaries);
  lr.rule_.values = std::move(values);
  return lr;
}

LearningRate LearningRate::Cosine(double base, int64_t steps, double least) {
  LearningRate lr(base);
  lr.rule_.kind = "cosine";
  lr.rule_.steps = steps;
  lr.rule_.least = least;
  return lr;
}

LearningRate LearningRate::WarmUp(int64_t steps, double from, double to) const {
  LearningRate lr = *this;
  lr.rule_.warm_up_steps = steps;
  lr.rule_.warm_up_from = from;
  lr.rule_.warm_up_to = to;
  return lr;
}

absl::StatusOr<LearningRate> LearningRate::Parse(absl::string_view text) {
  constexpr absl::string_view kWarmUp = "+warmup:";
  const size_t plus = text.find(kWarmUp);
  AMPC_ASSIGN_OR_RETURN(LearningRate lr, ParseRule(text.substr(0, plus), text));
  if (plus != absl::string_view::npos) {
    AMPC_ASSIGN_OR_RETURN(const std::vector<double> n, Numbers<double>(text.substr(plus + kWarmUp.size()), text));
    AMPC_RETURN_IF_ERROR(NeedCount(n.size(), 3, 3, "warm-up needs steps, the first rate and the last, as in +warmup:500,0,0.1", text));
    AMPC_ASSIGN_OR_RETURN(const int64_t steps, Steps(n[0], text));
    lr = lr.WarmUp(steps, n[1], n[2]);
  }
  AMPC_RETURN_IF_ERROR(lr.rule().Check());
  return lr;
}

}  // namespace ampc
