#include "passes/amp/decide/amp_decide.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/amp_region.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decide/decide.h"
#include "passes/amp/decide/low_penalty.h"
#include "passes/amp/decide/ranges.h"
#include "passes/amp/protect/masks.h"
#include "passes/analysis/time_model.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// Which device level auto decides for; null at other levels.
absl::StatusOr<const DeviceNumbers*> DeviceOption(const PassOptions& options, absl::string_view level) {
  if (level != "auto") return nullptr;
  const auto it = options.find("device");
  const std::string name = it == options.end() ? "" : it->second;
  if (const DeviceNumbers* device = FindDeviceNumbers(name)) return device;
  std::vector<absl::string_view> known;
  for (const DeviceNumbers& device : AllDeviceNumbers()) known.push_back(device.name);
  return UsageError(absl::StrCat("level auto: device is '", name, "', one of ", absl::StrJoin(known, ", "), " is needed"));
}

absl::StatusOr<DecideOptions> ReadOptions(const PassOptions& options) {
  DecideOptions out;
  AMPC_ASSIGN_OR_RETURN(out.level, ChoiceOption(options, "level", {"O0", "OD", "O1", "O2", "auto"}, "O2"));
  AMPC_ASSIGN_OR_RETURN(out.low, LowDTypeOption(options, "dtype", DType::kF16));
  AMPC_ASSIGN_OR_RETURN(out.mode,
                        ChoiceOption(options, "mode", {"own", "paddle-2.0", "paddle-2.4", "paddle-2.6", "paddle-inference-2.6"}, "own"));
  AMPC_ASSIGN_OR_RETURN(out.guard, BoolOption(options, "guard", false));
  AMPC_ASSIGN_OR_RETURN(out.promote, BoolOption(options, "promote", false));
  AMPC_ASSIGN_OR_RETURN(out.low_io, BoolOption(options, "low-io", false));
  out.keep_io = ListOption(options, "keep-io");
  out.low_io_names = ListOption(options, "low-io-names");
  out.white_list = ListOption(options, "white-list");
  out.black_list = ListOption(options, "black-list");
  out.black_vars = ListOption(options, "black-vars");
  if (const auto it = options.find("classes"); it != options.end()) AMPC_RETURN_IF_ERROR(ParseClassRules(it->second, &out.classes));
  AMPC_ASSIGN_OR_RETURN(out.include, SelectorOption(options, "include"));
  AMPC_ASSIGN_OR_RETURN(out.exclude, SelectorOption(options, "exclude"));
  const NameSet white(out.white_list.begin(), out.white_list.end());
  for (const std::string& type : out.black_list) {
    if (white.contains(type))
      return UsageError(absl::StrCat("op '", type, "' is in the white list and in the black list, needs to be in one"));
  }
  return out;
}

// An option that a Paddle release does not know is an error, not ignored.
absl::Status CheckForPolicy(const DecideOptions& o, const PaddlePolicy& policy, const Program& program) {
  const auto error = [&o](absl::string_view what) { return UsageError(absl::StrCat(o.mode, " ", what)); };
  bool foreign = false;
  ForEachOp(program, [&foreign](const Op& op) { foreign = foreign || onnx::DefOf(op.def()) != nullptr; });
  if (o.level == "auto") return error("knows no level auto");
  if (foreign) return error("decides about Paddle's programs, this one has ONNX's operators");
  if (o.low == DType::kBF16 && !policy.has_bf16) return error("knows fp16 only, not bf16");
  if (!o.exclude.empty() || !o.include.empty()) {
    return error("has no selectors, because Paddle has none: white-list, black-list and black-vars are what it knows");
  }
  if (!o.classes.empty()) return error("has no lists beyond white-list, black-list and black-vars");
  if (!o.keep_io.empty() || !o.low_io_names.empty()) return error("cannot choose feeds and fetches by name");
  if (policy.algorithm == PaddleAlgorithm::kInference) {
    if (o.guard || o.promote) return error("knows neither guard nor promote");
    if (!o.black_vars.empty()) return error("knows op types only: black-list is for it, not black-vars");
    return absl::OkStatus();
  }
  if (o.low_io) return error("decides itself which feeds and fetches become low: low-io is not for it");
  if (policy.algorithm == PaddleAlgorithm::kUnified) return absl::OkStatus();
  if (o.promote || o.level == "OD") return error("knows neither promote nor level OD");
  if (o.guard && o.level == "O1") return error("has the guard at O2 only");
  return absl::OkStatus();
}

DecisionOr Decide(DecideOptions options, const DeviceNumbers* device, PassContext& ctx, const Program& program) {
  options.plan = ctx.Find<PlannedOps>();
  options.penalty = ctx.Find<LowPenalty>();
  std::optional<ProgramSizes> sizes;
  std::optional<TimeModel> time;
  if (device != nullptr) {
    if (const FindsSizes* finds = ctx.Find<FindsSizes>()) sizes = finds->of(program);
    options.time = &time.emplace(program, sizes.has_value() ? &*sizes : nullptr, *device, options.low);
  }
  if (options.level == "O0" && !(options.mode == "own" && HasAmpRegions(program))) return DecideNothing(options, program);
  if (options.mode == "own") return DecideOwn(options, *ctx.support, program, &ctx.notes);
  const PaddlePolicy& policy = *FindPaddlePolicy(options.mode);
  AMPC_RETURN_IF_ERROR(CheckForPolicy(options, policy, program));
  switch (policy.algorithm) {
    case PaddleAlgorithm::kInference: return DecideInference(options, policy, program);
    case PaddleAlgorithm::kUnified: return DecideUnified(options, policy, program);
    case PaddleAlgorithm::kLegacy: break;
  }
  if (options.level == "O1") return DecideLegacyO1(options, policy, program);
  if (!options.black_vars.empty()) ctx.notes.push_back(absl::StrCat(options.mode, " does not look at black-vars at O2"));
  return DecideLegacyO2(options, policy, program);
}

}  // namespace

PassInfo AmpDecidePass() {
  PassInfo info;
  info.name = "amp-decide";
  info.summary = "decides which ops compute in low precision, and says why";
  info.options = {{"level", "O0, O1, O2 (default), auto, or OD with a Paddle mode"},
                  {"device", "which level auto decides for, such as cuda:8.0 or avx512_bf16"},
                  {"dtype", "f16 (default) or bf16"},
                  {"mode", "own (default), paddle-2.0, paddle-2.4, paddle-2.6 or paddle-inference-2.6"},
                  {"guard", "only ops inside an fp16_guard may become low"},
                  {"promote", "an op outside of the lists becomes low only if no operand is fp32"},
                  {"low-io", "feeds and fetches that low ops touch become low"},
                  {"keep-io", "feeds and fetches that keep their type all the same"},
                  {"low-io-names", "feeds and fetches that become low whatever touches them"},
                  {"white-list", "op types that become low"},
                  {"black-list", "op types that stay fp32"},
                  {"black-vars", "values whose readers and writers stay fp32"},
                  {"classes", "rules op=allow|infer|clear|deny|widest[:attr=value|value] in the place of the records'"},
                  {"include", "selectors of ops that become low whatever else says fp32, where they can"},
                  {"exclude", "selectors of ops that stay fp32"}};
  info.make = [](const PassOptions& text) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(DecideOptions options, ReadOptions(text));
    AMPC_ASSIGN_OR_RETURN(const DeviceNumbers* device, DeviceOption(text, options.level));
    return MakePass([options, device](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
      AMPC_ASSIGN_OR_RETURN(std::unique_ptr<AmpDecision> decision, Decide(options, device, ctx, program));
      decision->mode = options.mode;
      if (const Ranges* ranges = ctx.Find<Ranges>()) decision->measured = BoundsOfRanges(*ranges);
      if (const MaskConstants* masks = ctx.Find<MaskConstants>()) StoreMasks(*masks, program, decision.get());
      ctx.Put(std::move(decision));
      return false;
    });
  };
  return info;
}

}  // namespace ampc
