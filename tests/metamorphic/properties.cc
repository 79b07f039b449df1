#include "tests/metamorphic/properties.h"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/protect/error_bounds.h"
#include "passes/amp/rescale/rescaled.h"
#include "passes/analysis/target_support.h"
#include "passes/analysis/use_def.h"
#include "passes/pipeline.h"
#include "runtime/convert/convert.h"
#include "runtime/convert/strip.h"
#include "runtime/made_feeds.h"
#include "runtime/session.h"
#include "tests/extreme/choices.h"
#include "tests/metamorphic/random_program.h"

namespace ampc::metamorphic {
namespace {

using extreme::Choices;

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

ConvertOptions RandomOptions(Choices& choices, const std::vector<std::string>& types, std::string* words) {
  ConvertOptions o;
  o.no_sync = true;
  constexpr const char* kLevels[] = {"O1", "O2", "O2", "auto"};
  o.level = choices.Pick(kLevels);
  if (choices.Chance(40)) o.dtype = DType::kBF16;
  if (choices.Chance(30)) o.target = "cpu";
  if (choices.Chance(25)) o.low_io = true;
  if (choices.Chance(15) && o.level != "auto") o.promote = true;
  if (choices.Chance(30)) o.exclude.push_back(choices.Pick(types));
  if (choices.Chance(30)) o.include.push_back(choices.Pick(types));
  if (choices.Chance(20)) o.black_list.push_back(choices.Pick(types));
  if (choices.Chance(20)) o.white_list.push_back(choices.Pick(types));
  if (choices.Chance(25)) o.probe = 1;
  if (choices.Chance(20)) o.on_tiny = "flush";
  if (choices.Chance(20)) o.on_overflow = "keep";
  if (choices.Chance(25)) o.input_ranges.push_back("x=-20:20");
  if (choices.Chance(50) && o.dtype == DType::kF16) o.rescale = true;
  *words = absl::StrCat(o.level, " ", Name(o.dtype), " target=", o.target, o.low_io ? " low-io" : "", o.promote ? " promote" : "",
                        " exclude=", o.exclude.empty() ? "" : o.exclude[0], " include=", o.include.empty() ? "" : o.include[0],
                        " probe=", o.probe, " black=", o.black_list.empty() ? "" : o.black_list[0],
                        " white=", o.white_list.empty() ? "" : o.white_list[0], " ", o.on_tiny, " ", o.on_overflow,
                        o.input_ranges.empty() ? "" : " x=-20:20", o.rescale ? " rescale" : "");
  return o;
}

absl::Status Broken(absl::string_view property) { return absl::InternalError(property); }

// A low value that a cast of the program's widens and one of AMP's makes low again.
absl::Status CheckNoCastsThereAndBack(const Program& program) {
  const UseDef uses(program);
  absl::Status status;
  ForEachOp(program, [&](const Op& op) {
    if (!IsCast(op) || !IsInserted(op)) return;
    const Op* before = uses.producer(*op.inputs()[0]);
    if (before == nullptr || !IsCast(*before) || IsInserted(*before) || op.inputs()[0]->type.dtype != DType::kF32) return;
    const Var& source = *before->inputs()[0];
    if (IsLowPrecision(source.type.dtype) && source.type.dtype == op.outputs()[0]->type.dtype)
      status.Update(Broken(absl::StrCat("a low value is widened and made low again: ", source.name())));
  });
  return status;
}

struct Proven {
  absl::flat_hash_map<std::string, Bounds> bounds;
  absl::flat_hash_map<std::string, double> errors;
  absl::flat_hash_map<std::string, std::vector<float>> exact;  // of those with errors, once the original has run
};

// Each float value of a run lies in the bounds of the value of that name; a low copy has the name of its original and a suffix. NaN is
// made of an infinity of a value that nothing was proven of. Values of the original are kept, those of its conversion are as close to them
// as was proven.
class BoundsObserver : public StepObserver {
 public:
  BoundsObserver(bool original, Proven* proven, CheckResult* result) : original_(original), proven_(*proven), result_(*result) {}
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) {
      if (StorageType(v.desc.dtype) != DType::kF32 || v.data == nullptr) continue;
      absl::string_view name = v.var->name();
      const bool low = absl::ConsumeSuffix(&name, ".f16") || absl::ConsumeSuffix(&name, ".bf16");
      const float* values = static_cast<const float*>(v.data);
      AMPC_RETURN_IF_ERROR(CheckError(std::string(name), {values, static_cast<size_t>(v.desc.NumElements())}));
      const auto it = proven_.bounds.find(name);
      if (it == proven_.bounds.end()) continue;
      ++result_.bounded;
      for (int64_t i = 0; i < v.desc.NumElements(); ++i) {
        if (std::isnan(values[i]) || (values[i] >= it->second.low && values[i] <= it->second.high)) continue;
        return Broken(absl::StrCat("a value is beyond its proven bounds: ", v.var->name(), low ? " (low)" : "", " is ", values[i],
                                   ", proven is [", it->second.low, ", ", it->second.high, "]"));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckError(const std::string& name, absl::Span<const float> values) {
    const auto error = proven_.errors.find(name);
    if (error == proven_.errors.end()) return absl::OkStatus();
    std::vector<float>& exact = proven_.exact[name];
    if (original_) {
      exact.assign(values.begin(), values.end());
      return absl::OkStatus();
    }
    result_.with_error += exact.size() == values.size() ? 1 : 0;
    for (size_t i = 0; i < values.size() && exact.size() == values.size(); ++i) {
      if (std::fabs(values[i] - exact[i]) <= error->second) continue;
      return Broken(absl::StrCat("a value is further from fp32 than was proven: ", name, " is ", values[i], " in place of ", exact[i],
                                 ", proven is ", error->second));
    }
    return absl::OkStatus();
  }

  const bool original_;
  Proven& proven_;
  CheckResult& result_;
};

// Whether all values of a run are zero or far from the ends of fp32's range, so that products with them stay in it.
class SizeObserver : public StepObserver {
 public:
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) {
      if (StorageType(v.desc.dtype) != DType::kF32 || v.data == nullptr) continue;
      const float* values = static_cast<const float*>(v.data);
      for (int64_t i = 0; i < v.desc.NumElements(); ++i) {
        const float size = std::fabs(values[i]);
        ordinary = ordinary && (size == 0 || (size > 1e-20f && size < 1e20f));
      }
    }
    return absl::OkStatus();
  }
  bool ordinary = true;
};

// Room for the rounding of fp32 itself, which proofs are not about.
Bounds WithRoom(const Bounds& b, double factor) {
  const double room = 1e-6 * std::max(std::fabs(b.low), std::fabs(b.high)) + 1e-30;
  const double middle = (b.low + b.high) / 2, half = (b.high - b.low) / 2 * factor;
  return {middle - half - room, middle + half + room};
}

class Checker {
 public:
  Checker(uint64_t seed, const std::string& folder, Fault fault)
      : choices_(seed ^ 0x9E3779B97F4A7C15), program_(MakeRandomProgram(seed)), folder_(folder), fault_(fault), seed_(seed) {
    result.program = program_.text;
  }
  absl::Status Run();
  CheckResult result;

 private:
  std::string Path(const char* name) const { return absl::StrCat(folder_, "/", name, ".prog"); }
  absl::StatusOr<std::string> Converted(ConvertOptions options, const char* from, const char* to) {
    options.model = Path(from);
    options.output = Path(to);
    AMPC_ASSIGN_OR_RETURN(const ConvertResult converted, ampc::Convert(options));
    const absl::Status verified = Verify(*converted.program);
    if (!verified.ok()) return Broken(absl::StrCat("the converted program is not well formed: ", verified.message()));
    if (!names_ops_) AMPC_RETURN_IF_ERROR(CheckNoCastsThereAndBack(*converted.program));
    return ReadText(options.output);
  }
  absl::Status CheckBytes(const ConvertOptions& options);
  absl::Status CheckTime(ConvertOptions options);
  absl::Status CheckRuns(const ConvertOptions& options);
  absl::Status CheckRescaled(const Program& original, const TensorMap& feeds);
  absl::Status CheckRun(const Program& program, bool original, const TensorMap& feeds, Proven* proven);

  Choices choices_;
  const RandomProgram program_;
  const std::string folder_;
  const Fault fault_;
  const uint64_t seed_;
  bool names_ops_ = false;  // the options, or what weighs casts: both may ask for a cast as it stands
};

absl::Status Checker::Run() {
  std::ofstream(Path("made"), std::ios::binary) << program_.text;
  ConvertOptions copy;
  copy.level = "O0";
  copy.no_sync = true;
  copy.model = Path("made");
  copy.output = Path("original");
  const absl::Status copied = ampc::Convert(copy).status();
  if (!copied.ok()) return Broken(absl::StrCat("the generator's program is not read: ", copied.message()));
  const ConvertOptions options = RandomOptions(choices_, program_.types, &result.options);
  names_ops_ = !options.exclude.empty() || !options.black_list.empty() || options.level == "auto";
  const absl::Status bytes = CheckBytes(options);
  const ExitCode code = ExitCodeOf(bytes);
  result.refused = !bytes.ok() && (code == ExitCode::kUsage || code == ExitCode::kUnsupported);
  if (result.refused) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(bytes);
  AMPC_RETURN_IF_ERROR(CheckTime(options));
  return CheckRuns(options);
}

absl::Status Checker::CheckBytes(const ConvertOptions& options) {
  ConvertOptions first = options;
  first.plan_out = absl::StrCat(folder_, "/plan.json");
  AMPC_ASSIGN_OR_RETURN(std::string low, Converted(first, "original", "low"));
  if (fault_ == Fault::kWritesOtherBytes) low += " ";
  AMPC_ASSIGN_OR_RETURN(const std::string same, Converted(options, "original", "same"));
  if (same != low) return Broken("the same command gives other bytes");
  if (fault_ == Fault::kLosesACast) {
    std::string text = ReadText(Path("low"));
    const size_t cast = text.find("= cast("), to = text.find("!amp=inserted", cast);
    if (to != std::string::npos) text.replace(text.rfind('\n', cast), text.find('\n', to) - text.rfind('\n', cast), "");
    std::ofstream(Path("low"), std::ios::binary) << text;
  }
  const absl::StatusOr<Program> loaded = LoadModel(Path("low"));
  if (!loaded.ok()) return Broken(absl::StrCat("the result is not read: ", loaded.status().message()));
  ConvertOptions again;
  again.no_sync = true;
  again.given.emplace();
  AMPC_ASSIGN_OR_RETURN(const std::string twice, Converted(again, "low", "twice"));
  if (twice != low && low != ReadText(Path("original"))) return Broken("a second conversion gives other bytes");
  ConvertOptions planned = options;
  planned.plan = first.plan_out;
  if (fault_ == Fault::kOtherPlan) {
    const std::string plan = absl::StrReplaceAll(ReadText(first.plan_out), {{"\"low\"", "\"fp32\""}});
    std::ofstream(planned.plan, std::ios::binary) << plan;
  }
  AMPC_ASSIGN_OR_RETURN(const std::string by_plan, Converted(planned, "original", "planned"));
  if (by_plan != low) return Broken("its own plan gives other bytes");
  AMPC_RETURN_IF_ERROR(Strip({.model = Path("low"), .output = Path("back"), .weights = Path("original"), .no_sync = true}).status());
  const std::string back = ReadText(Path("back")) + (fault_ == Fault::kStripsToOther ? " " : "");
  return back == ReadText(Path("original")) ? absl::OkStatus() : Broken("strip does not give the original back");
}

absl::Status Checker::CheckTime(ConvertOptions options) {
  options.model = Path("original");
  options.decide_only = true;
  options.promote = false;
  double mixed[2];
  for (const bool fastest : {false, true}) {
    options.level = fastest ? "auto" : "O2";
    AMPC_ASSIGN_OR_RETURN(const ConvertResult decided, ampc::Convert(options));
    mixed[fastest ? 1 : 0] = decided.predicted.run.mixed;
  }
  if (fault_ == Fault::kSlower) mixed[1] *= 100;
  if (!(mixed[0] > 0)) return Broken("no time is predicted");
  return mixed[1] <= mixed[0] * (1 + 1e-9) ? absl::OkStatus() : Broken("level auto is predicted to be slower than O2");
}

absl::Status Checker::CheckRun(const Program& program, bool original, const TensorMap& feeds, Proven* proven) {
  TensorMap fetched[2];
  for (const int threads : {1, 2}) {
    AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(program.Clone(), {.threads = threads, .strict_rounding = true}));
    BoundsObserver observer(original, proven, &result);
    AMPC_ASSIGN_OR_RETURN(fetched[threads - 1], session.Run(feeds, observer));
  }
  for (const auto& [name, tensor] : fetched[1]) {
    const HostTensor& one = fetched[0].at(name);
    const bool other = fault_ == Fault::kOtherThreads;
    if (one.bytes() != tensor.bytes() || other) return Broken("the result depends on the number of threads");
  }
  return absl::OkStatus();
}

// Powers of two change no bit of what is fetched.
absl::Status Checker::CheckRescaled(const Program& original, const TensorMap& feeds) {
  Program rescaled = original.Clone();
  PassContext ctx;
  AMPC_ASSIGN_OR_RETURN(ctx.support, TargetSupport("cuda"));
  AMPC_RETURN_IF_ERROR(RunPipeline(Pipeline().Add("infer-types").Add("rescale-weights"), {}, ctx, rescaled));
  if (ctx.Find<Rescaled>()->exponents.empty()) return absl::OkStatus();
  if (fault_ == Fault::kRescalesOneSide) {
    Rescaled one;
    one.exponents.insert(*ctx.Find<Rescaled>()->exponents.begin());
    AMPC_RETURN_IF_ERROR(TakeBack(one, rescaled));
  }
  TensorMap fetched[2];
  SizeObserver sizes;
  for (const bool scaled : {false, true}) {
    const Program& program = scaled ? rescaled : original;
    AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(program.Clone(), {.threads = 1, .strict_rounding = true}));
    AMPC_ASSIGN_OR_RETURN(fetched[scaled ? 1 : 0], session.Run(feeds, sizes));
  }
  if (!sizes.ordinary) return absl::OkStatus();
  ++result.rescaled;
  for (const auto& [name, tensor] : fetched[1]) {
    if (fetched[0].at(name).bytes() != tensor.bytes()) return Broken(absl::StrCat("rescaled weights change the result ", name));
  }
  return absl::OkStatus();
}

absl::Status Checker::CheckRuns(const ConvertOptions& options) {
  AMPC_ASSIGN_OR_RETURN(const Program original, LoadModel(Path("original")));
  AMPC_ASSIGN_OR_RETURN(const Program low, LoadModel(Path("low")));
  AMPC_ASSIGN_OR_RETURN(const MadeFeeds made, MakeFeeds(original, {.seed = seed_}));
  InputRanges ranges;
  for (const auto& [name, tensor] : made.feeds) {
    if (tensor.dtype() != DType::kF32) continue;
    Bounds range{0, 0};
    for (const float value : tensor.values<float>()) range = Union(range, {value, value});
    ranges[name] = {range.low - 0.01 * std::fabs(range.low), range.high + 0.01 * std::fabs(range.high)};
  }
  Facts facts(original, options.dtype, options.on_tiny == "flush" ? OnTiny::kFlush : OnTiny::kSubnormal, ranges);
  facts.Find(nullptr, nullptr);
  const ErrorBounds errors(facts);
  Proven proven;
  ForEachVar(original, [&](const Var& var) {
    const Bounds& bounds = facts.Of(var).bounds;
    if (var.type.dtype != DType::kF32 || !std::isfinite(bounds.low) || !std::isfinite(bounds.high) || !facts.InRange(bounds)) return;
    proven.bounds[var.name()] = WithRoom(bounds, fault_ == Fault::kBoundsTooTight ? 0.02 : 1);
    const double error = errors.Of(var);
    if (var.kind == VarKind::kTemp && std::isfinite(error))
      proven.errors[var.name()] = fault_ == Fault::kErrorsTooTight ? error / 50 : error;
  });
  AMPC_RETURN_IF_ERROR(CheckRun(original, true, made.feeds, &proven));
  if (!options.include.empty() || !options.white_list.empty()) proven = {};  // they overrule what keeps values from zero
  if (options.rescale && !RescaledOf(low).exponents.empty()) proven = {};    // values in between are others
  TensorMap feeds;
  for (const auto& [name, tensor] : made.feeds) feeds.emplace(name, tensor);
  AMPC_RETURN_IF_ERROR(CheckRescaled(original, feeds));
  if (options.low_io) {
    AMPC_ASSIGN_OR_RETURN(MadeFeeds low_feeds, MakeFeeds(low, {.seed = seed_}));
    feeds = std::move(low_feeds.feeds);
  }
  return CheckRun(low, false, feeds, &proven);
}

}  // namespace

CheckResult CheckProperties(uint64_t seed, const std::string& folder, Fault fault) {
  Checker checker(seed, folder, fault);
  checker.result.status = checker.Run();
  return checker.result;
}

}  // namespace ampc::metamorphic
