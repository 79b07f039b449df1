// The passes of a conversion: straight lists with a reason per line; what each is told stands in the table of options.
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/option_text.h"
#include "runtime/convert/options.h"
#include "runtime/convert/target_numbers.h"

namespace ampc {
namespace {

bool IsSet(DType) { return true; }
bool IsSet(bool value) { return value; }
bool IsSet(int) { return true; }
bool IsSet(const std::string& value) { return !value.empty(); }
bool IsSet(const std::vector<std::string>& value) { return !value.empty(); }

std::string TextOf(DType value, const PassUse&) { return std::string(Name(value)); }
std::string TextOf(bool, const PassUse&) { return "true"; }
std::string TextOf(int value, const PassUse&) { return absl::StrCat(value); }
std::string TextOf(const std::string& value, const PassUse& use) { return *use.between == '\0' ? EscapeItem(value) : value; }
std::string TextOf(const std::vector<std::string>& value, const PassUse& use) {
  return *use.between == '\0' ? JoinItems(value) : absl::StrJoin(value, use.between);
}

// The row of `pass`.
PassOptions For(absl::string_view pass, const ConvertOptions& options) {
  const ConvertOptions defaults;
  PassOptions out;
  for (const ConvertOption& option : ConvertOptionTable()) {
    for (const PassUse& use : option.passes) {
      if (use.pass != pass) continue;
      std::visit(
          [&](auto member) {
            const auto& value = options.*member;
            if (IsSet(value) && (use.always || value != defaults.*member)) out[use.as] = TextOf(value, use);
          },
          option.member);
    }
  }
  return out;
}

void Add(Pipeline& p, const char* pass, const ConvertOptions& o) { p.Add(pass, For(pass, o)); }

void Append(Pipeline& p, const Pipeline& more) {
  for (const PipelineStep& step : more.steps()) p.Add(step.pass, step.options);
}

// A selector may ask for a guard region, which fp16-guard numbers.
bool NamesRegion(const ConvertOptions& o) {
  for (const std::vector<std::string>* selectors : {&o.include, &o.exclude}) {
    for (const std::string& selector : *selectors) {
      if (absl::StrContains(selector, "region:")) return true;
    }
  }
  return false;
}

}  // namespace

Pipeline MeasurePipeline(const ConvertOptions& o) {
  Pipeline p;
  if (o.level == "O0") return p;
  p.Add("infer-types");                         // importers leave gaps, and a decision needs types
  if (o.rescale) Add(p, "rescale-weights", o);  // before measuring: values that are scaled are measured so
  const bool probe = o.mode == "own" && o.probe > 0 && o.plan.empty() && !o.program_only;
  if (probe || !o.calibrate.empty() || !o.ranges.empty()) Add(p, "measure", o);  // before deciding: its marks are obeyed
  return p;
}

Pipeline DecidePipeline(const ConvertOptions& o) {
  Pipeline p;
  if (o.level == "O0") return p;
  const bool own = o.mode == "own";
  if (o.guard || NamesRegion(o)) p.Add("fp16-guard");  // before deciding: regions are marks
  PassOptions protect = For("protect", o);
  protect["masks"] = "true";
  if (own) p.Add("protect", std::move(protect));                        // before deciding: its marks are obeyed
  if (own && o.dtype == DType::kBF16) Add(p, "upgrade-onnx-opset", o);  // before deciding: what an op may be says its version
  if (o.mode == "paddle-inference-2.6") p.Add("fold-constants", {{"shapes", "false"}});  // as that converter does in front
  if (!o.plan.empty()) Add(p, "use-plan", o);                                            // last before deciding: it names ops
  PassOptions decide = For("amp-decide", o);
  if (o.level == "auto") decide["device"] = std::string(NumbersOfTarget(o.target).name);
  p.Add("amp-decide", std::move(decide));
  return p;
}

Pipeline RewritePipeline(const ConvertOptions& o) {
  Pipeline p;
  if (o.level == "O0") return p;
  p.Add("cast-model-to-fp16");           // casts naively, one per value and type
  Add(p, "cast-parameters-to-fp16", o);  // after the casts that it replaces
  p.Add("round-batch-norm");             // after the casts whose rounding it makes better
  return p;
}

Pipeline CheckPipeline(const ConvertOptions& o) {
  Pipeline p;
  if (o.level != "O0") p.Add("amp-verify");
  return p;
}

Pipeline ConvertPipeline(const ConvertOptions& o) {
  Pipeline p = MeasurePipeline(o);
  Append(p, DecidePipeline(o));
  Append(p, RewritePipeline(o));
  Append(p, CheckPipeline(o));
  return p;
}

}  // namespace ampc
