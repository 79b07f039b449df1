#include "passes/amp/amp_decide.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

absl::StatusOr<std::vector<Selector>> SelectorOption(const PassOptions& options, absl::string_view name) {
  auto it = options.find(name);
  if (it == options.end()) return std::vector<Selector>();
  return ParseSelectorList(it->second);
}

absl::StatusOr<DecideOptions> ReadOptions(const PassOptions& options) {
  DecideOptions out;
  AMPC_ASSIGN_OR_RETURN(out.level, ChoiceOption(options, "level", {"O0", "OD", "O1", "O2"}, "O2"));
  AMPC_ASSIGN_OR_RETURN(out.low, LowDTypeOption(options, "dtype", DType::kF16));
  AMPC_ASSIGN_OR_RETURN(out.mode, ChoiceOption(options, "mode", {"own", "paddle-2.0", "paddle-2.4", "paddle-2.6"}, "own"));
  AMPC_ASSIGN_OR_RETURN(out.guard, BoolOption(options, "guard", false));
  AMPC_ASSIGN_OR_RETURN(out.promote, BoolOption(options, "promote", false));
  AMPC_ASSIGN_OR_RETURN(out.low_io, BoolOption(options, "low-io", false));
  out.keep_io = ListOption(options, "keep-io");
  out.low_io_names = ListOption(options, "low-io-names");
  out.white_list = ListOption(options, "white-list");
  out.black_list = ListOption(options, "black-list");
  out.black_vars = ListOption(options, "black-vars");
  AMPC_ASSIGN_OR_RETURN(out.include, SelectorOption(options, "include"));
  AMPC_ASSIGN_OR_RETURN(out.exclude, SelectorOption(options, "exclude"));
  const NameSet white(out.white_list.begin(), out.white_list.end());
  for (const std::string& type : out.black_list) {
    if (white.contains(type)) return UsageError(absl::StrCat("op '", type, "' is in the white list and in the black list, needs to be in one"));
  }
  return out;
}

DecisionOr Decide(const DecideOptions& options, PassContext& ctx, const Program& program) {
  if (options.level == "O0") return DecideNothing(options, program);
  if (options.mode == "own") return DecideOwn(options, *ctx.support, program, &ctx.notes);
  const PaddlePolicy& policy = *FindPaddlePolicy(options.mode);
  if (options.low == DType::kBF16 && !policy.has_bf16) return UsageError(absl::StrCat("mode ", options.mode, " knows f16 only, not bf16"));
  if (!options.exclude.empty() || !options.include.empty()) {
    return UsageError(absl::StrCat("mode ", options.mode, " has no selectors, because Paddle has none: white-list, black-list and black-vars are what it knows"));
  }
  if (!options.keep_io.empty() || !options.low_io_names.empty()) {
    return UsageError(absl::StrCat("mode ", options.mode, " cannot choose feeds and fetches by name"));
  }
  if (policy.unified) return DecideUnified(options, policy, program);
  if (options.promote || options.level == "OD") return UsageError(absl::StrCat("mode ", options.mode, " knows neither promote nor level OD"));
  return options.level == "O1" ? DecideLegacyO1(options, policy, program) : DecideLegacyO2(options, policy, program);
}

}  // namespace

PassInfo AmpDecidePass() {
  PassInfo info;
  info.name = "amp-decide";
  info.summary = "decides which ops compute in low precision, and says why";
  info.options = {{"level", "O0, O1, O2 (default), or OD with a Paddle mode"},
                  {"dtype", "f16 (default) or bf16"},
                  {"mode", "own (default), paddle-2.0, paddle-2.4 or paddle-2.6"},
                  {"guard", "only ops inside an fp16_guard may become low"},
                  {"promote", "an op outside of the lists becomes low only if no operand is fp32"},
                  {"low-io", "feeds and fetches that low ops touch become low"},
                  {"keep-io", "feeds and fetches that keep their type all the same"},
                  {"low-io-names", "feeds and fetches that become low whatever touches them"},
                  {"white-list", "op types that become low"},
                  {"black-list", "op types that stay fp32"},
                  {"black-vars", "values whose readers and writers stay fp32"},
                  {"include", "selectors of ops that become low whatever else says fp32, where they can"},
                  {"exclude", "selectors of ops that stay fp32"}};
  info.make = [](const PassOptions& text) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(DecideOptions options, ReadOptions(text));
    return MakePass([options](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
      AMPC_ASSIGN_OR_RETURN(ctx.decision, Decide(options, ctx, program));
      ctx.decision->mode = options.mode;
      return false;
    });
  };
  return info;
}

}  // namespace ampc
