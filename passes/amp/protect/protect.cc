#include "passes/amp/protect/protect.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/cast/cast_parameters.h"
#include "passes/amp/decide/ranges.h"
#include "passes/amp/protect/error_bounds.h"
#include "passes/amp/protect/find_marks.h"
#include "passes/amp/protect/masks.h"
#include "passes/make_pass.h"
#include "passes/option_text.h"

namespace ampc {
namespace {

// A mark that the program came with stays.
bool Apply(const Marks& marks, Program& program) {
  bool changed = false;
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
      const Marks::Mark* mark = marks.Find(*op);
      if (mark == nullptr || op->marks.amp != AmpMark::kNone) continue;
      op->marks.amp = AmpMark::kFp32;
      op->marks.amp_reason = MarkText(ProtectRules()[mark->rule], mark->text);
      changed = true;
    }
  }
  return changed;
}

// Bits of the rows that `rules` names; all where it names none.
absl::StatusOr<uint32_t> RulesOption(const PassOptions& options) {
  const std::vector<std::string> wanted = ListOption(options, "rules");
  if (wanted.empty()) return ~uint32_t{0};
  const absl::Span<const Rule> rules = ProtectRules();
  uint32_t bits = 0;
  for (const std::string& id : wanted) {
    const auto row =
        std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return absl::StripPrefix(rule.id, kProtectPrefix) == id; });
    if (row == rules.end()) {
      return UsageError(
          absl::StrCat("option rules: found '", id, "', needed ", absl::StrJoin(rules, ", ", [](std::string* out, const Rule& rule) {
                         absl::StrAppend(out, absl::StripPrefix(rule.id, kProtectPrefix));
                       })));
    }
    bits |= uint32_t{1} << (row - rules.begin());
  }
  return bits;
}

constexpr char kRangesHelp[] = "the ranges of feeds, NAME=LOW:HIGH each, within which bounds are proven";

absl::StatusOr<InputRanges> InputRangesOption(const PassOptions& options) {
  const auto it = options.find("input_ranges");
  return it == options.end() ? InputRanges() : ParseInputRanges(SplitItems(it->second));
}

absl::Status CheckNames(const InputRanges& ranges, const Program& program) {
  for (const auto& range : ranges) {
    const std::string& name = range.first;
    const bool found = std::any_of(program.feeds.begin(), program.feeds.end(), [&](const Var* feed) { return feed->exported() == name; });
    if (!found) return UsageError(absl::StrCat("an input range names '", name, "', the name of a feed is needed"));
  }
  return absl::OkStatus();
}

InputRanges MeasuredIn(const PassContext& ctx) {
  const Ranges* ranges = ctx.Find<Ranges>();
  return ranges == nullptr ? InputRanges() : BoundsOfRanges(*ranges);
}

// How many values are proven to stay in the range, or to leave it.
std::string CountText(const Facts& facts) {
  int64_t safe = 0, leave = 0, all = 0;
  for (const Op* op : facts.flow().ops()) {
    for (const Var* var : op->outputs()) {
      if (var->type.dtype != DType::kF32) continue;
      ++all;
      safe += facts.VerdictOf(*var) == Facts::Verdict::kSafe ? 1 : 0;
      leave += facts.VerdictOf(*var) == Facts::Verdict::kLeaves ? 1 : 0;
    }
  }
  return absl::StrCat("of ", all, " computed fp32 values ", safe, " are proven to stay in the range of ", Name(facts.low()), ", ", leave,
                      " to leave it");
}

}  // namespace

PassInfo ProtectPass() {
  PassInfo info;
  info.name = "protect";
  info.summary = "marks shape arithmetic, index computation, and what tiny or huge constants touch as fp32";
  info.options = {{"dtype", "f16 (default) or bf16: the type whose range counts"},
                  {"on_tiny", "what cast-parameters-to-fp16 is told: subnormal (default), flush, keep"},
                  {"input_ranges", kRangesHelp},
                  {"masks", "constants of masks may be stored as others in the low type: true or false (default)"},
                  {"rules", "ids of the rules that may mark, e.g. range,eps; all where none is given"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(const DType low, LowDTypeOption(options, "dtype", DType::kF16));
    AMPC_ASSIGN_OR_RETURN(const OnTiny on_tiny, OnTinyOption(options));
    AMPC_ASSIGN_OR_RETURN(const uint32_t rules, RulesOption(options));
    AMPC_ASSIGN_OR_RETURN(const InputRanges ranges, InputRangesOption(options));
    AMPC_ASSIGN_OR_RETURN(const bool masks, BoolOption(options, "masks", false));
    return MakePass([=](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
      AMPC_RETURN_IF_ERROR(CheckNames(ranges, program));
      const InputRanges measured = MeasuredIn(ctx);
      Facts facts(program, low, on_tiny, ranges, measured);
      if (masks && ctx.Find<MaskConstants>() == nullptr) ctx.Put(std::make_unique<MaskConstants>(FindMasks(facts)));
      const MaskConstants* const found = masks ? ctx.Find<MaskConstants>() : nullptr;
      if (found == nullptr || found->empty()) return Apply(FindMarks(facts, rules, nullptr), program);
      Facts masked(program, low, on_tiny, ranges, measured, *found);
      return Apply(FindMarks(masked, rules, nullptr), program);
    });
  };
  return info;
}

PassInfo FactsPass() {
  PassInfo info;
  info.name = "facts";
  info.summary = "notes what protect knows of each value: its bounds, its size, where it comes from";
  info.options = {{"dtype", "f16 (default) or bf16: the type whose range counts"}, {"input_ranges", kRangesHelp}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(const DType low, LowDTypeOption(options, "dtype", DType::kF16));
    AMPC_ASSIGN_OR_RETURN(const InputRanges ranges, InputRangesOption(options));
    return MakePass([low, ranges](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
      AMPC_RETURN_IF_ERROR(CheckNames(ranges, program));
      Facts facts(program, low, OnTiny::kSubnormal, ranges, MeasuredIn(ctx));
      facts.Find(nullptr, nullptr);
      const ErrorBounds errors(facts);
      ForEachVar(program, [&](const Var& var) {
        const std::string text = FactText(facts, var), error = IsStored(var) ? "" : ErrorText(errors, var);
        if (!text.empty()) ctx.notes.push_back(absl::StrCat(var.name(), ": ", text, error.empty() ? "" : ", ", error));
      });
      ctx.notes.push_back(CountText(facts));
      return false;
    });
  };
  return info;
}

}  // namespace ampc
