// ampc bench: latencies and throughput of a model, or of training one of the built-in networks.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "graph/formats/files_read.h"
#include "graph/formats/outputs.h"
#include "tools/bench/bench.h"
#include "tools/bench/networks.h"
#include "tools/cli/command.h"
#include "tools/cli/device_check.h"
#include "tools/cli/file_extension.h"
#include "tools/cli/tensors.h"

namespace ampc {
namespace {

struct BenchFlags {
  BenchRequest request;
  std::string dtype = "fp16";
  int ops = 10;
  std::string profile;
  bool json = false;
};

constexpr const char* kHeader =
    "level  batch    runs       best        p50        p90        p99      items/s      arena       peak       load  first run\n";

void PrintText(Console& console, const BenchLine& l) {
  console.Out(absl::StrFormat("%-5s %6d %7d %10s %10s %10s %10s %12.1f %10s %10s %10s %10s\n", l.level.empty() ? "-" : l.level, l.batch,
                              l.runs, HumanSeconds(l.best), HumanSeconds(l.p50), HumanSeconds(l.p90), HumanSeconds(l.p99),
                              l.items_per_second, HumanBytes(l.arena_bytes), HumanBytes(l.peak_bytes), HumanSeconds(l.load_seconds),
                              HumanSeconds(l.first_run_seconds)));
}

std::string DimsText(const BenchLine& l) {
  return absl::StrJoin(l.dims, " ",
                       [](std::string* out, const auto& dims) { absl::StrAppend(out, dims.first, "=", absl::StrJoin(dims.second, ",")); });
}

// Those that take most, at most `number` of them; the others are one.
std::vector<OpShare> Largest(const std::vector<OpShare>& ops, int number) {
  const size_t kept = std::min(ops.size(), static_cast<size_t>(number));
  std::vector<OpShare> rows(ops.begin(), ops.begin() + kept);
  if (kept == ops.size()) return rows;
  OpShare& others = rows.emplace_back();
  others.type = absl::StrCat(ops.size() - kept, " others");
  for (size_t i = kept; i < ops.size(); ++i) {
    others.steps += ops[i].steps;
    others.seconds += ops[i].seconds;
    others.share += ops[i].share;
  }
  return rows;
}

void PrintProfile(Console& console, const BenchLine& l, int number) {
  const Profile& profile = *l.profile;
  const auto percent = [](double share) { return absl::StrFormat("%.1f %%", 100 * share); };
  std::vector<std::vector<std::string>> rows = {{"op", "implementation", "steps", "time", "share"}};
  for (const OpShare& o : Largest(profile.ops, number))
    rows.push_back({o.type, o.implementation, absl::StrCat(o.steps), HumanSeconds(o.seconds), percent(o.share)});
  rows.push_back({"between ops", "", "", HumanSeconds(profile.between_seconds), percent(profile.between_seconds / profile.seconds)});
  console.Out(absl::StrCat("\n", l.level.empty() ? "" : l.level + " ", DimsText(l), ": a run of ", HumanSeconds(profile.seconds), "\n",
                           FormatTable(rows)));
}

void PrintJson(Console& console, const BenchFlags& flags, const BenchLine& l) {
  const BenchRequest& r = flags.request;
  JsonWriter json;
  json.BeginObject().Field("model", r.model).Field("job", r.train ? "train" : "run").Field("device", r.device).Field("threads", r.threads);
  if (!l.level.empty()) json.Field("level", l.level).Field("dtype", l.level == "O0" ? "fp32" : flags.dtype);
  if (r.train) json.Field("optimizer", r.optimizer).Field("accumulate", r.accumulate).Field("loss", l.loss);
  json.Key("dims").BeginObject();
  for (const auto& [name, dims] : l.dims) json.Key(name).Ints(dims);
  json.EndObject()
      .Field("batch", l.batch)
      .Field("runs", l.runs)
      .Field("best_seconds", l.best)
      .Field("best_cpu_seconds", l.best_cpu)
      .Field("p50_seconds", l.p50)
      .Field("p90_seconds", l.p90);
  json.Field("p99_seconds", l.p99)
      .Field("items_per_second", l.items_per_second)
      .Field("arena_bytes", l.arena_bytes)
      .Field("peak_bytes", l.peak_bytes);
  json.Field("load_seconds", l.load_seconds).Field("first_run_seconds", l.first_run_seconds);
  if (l.profile && flags.ops > 0) {
    json.Key("profile").BeginArray();
    for (const OpShare& o : Largest(l.profile->ops, flags.ops)) {
      json.BeginObject().Field("op", o.type).Field("implementation", o.implementation).Field("steps", o.steps).Field("seconds", o.seconds);
      json.Field("share", o.share).EndObject();
    }
    json.EndArray().Field("between_seconds", l.profile->between_seconds).Field("profiled_seconds", l.profile->seconds);
  }
  json.EndObject();
  console.Out(json.Take() + "\n");
}

// The first of `names` that was given is refused.
absl::Status Refuse(const Options& options, std::initializer_list<const char*> names, absl::string_view found, absl::string_view needed) {
  for (const char* name : names) {
    if (options.Given(name)) return UsageError(absl::StrCat(name, ": found ", found, ", needed ", needed));
  }
  return absl::OkStatus();
}

// An option that would change nothing is refused.
absl::Status CheckMeaning(const BenchFlags& flags, const Options& options) {
  const BenchRequest& r = flags.request;
  AMPC_RETURN_IF_ERROR(CheckExtension("--profile", flags.profile, ".json", "the trace of Chrome"));
  if (FindBenchNetwork(r.model) == nullptr) {
    AMPC_RETURN_IF_ERROR(Refuse(options, {"--train"}, "a model in a file", absl::StrCat("one of ", BenchNetworkNames())));
    AMPC_RETURN_IF_ERROR(Refuse(options, {"--level", "--dtype", "--optimizer", "--accumulate"}, "a model in a file, which runs as it is",
                                absl::StrCat("one of ", BenchNetworkNames())));
    return r.inputs.empty() ? absl::OkStatus()
                            : Refuse(options, {"--batch", "--dims"}, "--input, whose values have their dims", "one of the two");
  }
  AMPC_RETURN_IF_ERROR(Refuse(options, {"--input", "--dims", "--params", "--tune-plans"},
                              absl::StrCat("network '", r.model, "', whose values are random"), "a model in a file"));
  if (std::all_of(r.levels.begin(), r.levels.end(), [](const std::string& level) { return level == "O0"; })) {
    AMPC_RETURN_IF_ERROR(Refuse(options, {"--dtype"}, "only level O0", "O1 or O2 among the levels"));
  }
  if (!r.train) return Refuse(options, {"--optimizer", "--accumulate"}, "no --train", "it");
  if (flags.ops > 0) AMPC_RETURN_IF_ERROR(Refuse(options, {"--ops"}, "--train", "runs of a model"));
  return Refuse(options, {"--strict-rounding", "--no-in-place"}, "--train", "runs of a model");
}

absl::Status CheckFlags(const BenchFlags& flags) {
  const BenchRequest& r = flags.request;
  if (flags.profile.empty() && r.tune_plans.empty()) return absl::OkStatus();
  if (r.train) return UsageError("--profile: found --train, needed runs of a model");
  std::vector<std::string> inputs;
  for (const std::string& source : r.inputs) inputs.push_back(FileOfFeeds(source));
  if (FindBenchNetwork(r.model) == nullptr) {
    for (const std::string& file : ModelFiles(r.model, r.params)) inputs.push_back(file);
  }
  return CheckOutputs({flags.profile, r.tune_plans}, inputs);
}

absl::Status Run(BenchFlags flags, Console& console) {
  FilesRead read;
  AMPC_RETURN_IF_ERROR(CheckFlags(flags));
  flags.request.dtype = flags.dtype == "bf16" ? DType::kBF16 : DType::kF16;
  flags.request.profile = flags.ops > 0 || !flags.profile.empty();
  AMPC_RETURN_IF_ERROR(CheckDevice(flags.request.device, console));
  Progress progress(console, "loading");
  flags.request.stage = [&progress](absl::string_view stage) { progress.Stage(stage); };
  flags.request.loaded = [&] { return CheckNotRead({flags.profile}, read); };
  std::vector<BenchLine> lines;
  AMPC_RETURN_IF_ERROR(RunBench(flags.request, [&](const BenchLine& line) {
    if (!flags.json && lines.empty()) console.Out(kHeader);
    flags.json ? PrintJson(console, flags, line) : PrintText(console, line);
    lines.push_back(line);
  }));
  for (const BenchLine& line : lines) {
    if (line.profile && flags.ops > 0 && !flags.json) PrintProfile(console, line, flags.ops);
  }
  if (flags.profile.empty()) return absl::OkStatus();
  return WriteFileAtomically(flags.profile, lines.back().profile->trace.ToJson());
}

void AddBenchOptions(const Options& options, BenchFlags& f) {
  BenchRequest& r = f.request;
  options.Add("model", r.model, absl::StrCat("a model's file, or a network with random weights: ", BenchNetworkNames())).Required();
  const Options feeds = options.Under("Model and feeds");
  feeds.Add("--batch", r.batches, "rows of a run; several, separated by commas, give a line each")
      .SplitAtCommas()
      .Between(1, 1 << 20)
      .ShowDefault();
  feeds.Add("--input,-i", r.inputs, "feeds of a model's file: .npz, .safetensors, or NAME=file.npy; default: random values");
  feeds.Add("--dims", r.dims, "NAME=1,3,48,320: dims of a feed; given again for the same feed: another line of the same session")
      .Values("NAME=DIMS");
  feeds.Add("--params", r.params, "file with the weights").Values("FILE");
  const Options networks = options.Under("Networks");
  networks.Add("--level", r.levels, "O0, O1, O2 of a network; several, separated by commas")
      .SplitAtCommas()
      .OneOf({"O0", "O1", "O2"})
      .ShowDefault();
  networks.Add("--dtype", f.dtype, "fp16 or bf16").OneOf({"fp16", "bf16"}).ShowDefault();
  networks.Flag("--train", r.train, "steps of training instead of runs; networks only");
  networks.Add("--optimizer", r.optimizer, "sgd, momentum, adam, adamw or lamb").ShowDefault();
  networks.Add("--accumulate", r.accumulate, "steps per update").Between(1, 1 << 20).ShowDefault();
  const Options run = options.Under("Runs");
  run.Add("--device", r.device, "cpu, or cuda:N in a build with CUDA").ShowDefault();
  run.Add("--threads", r.threads, "threads of one run; 0: all processors").ShowDefault();
  run.Add("--tune-plans", r.tune_plans, kTunePlansHelp).Values("FILE");
  run.Flag("--strict-rounding", r.strict_rounding,
           "no fusion, and every op rounds its result to its type; else fp16 keeps float32 between ops on a CPU");
  run.Flag("!--no-in-place", r.in_place, "no result takes the memory of an operand");
  const Options output = options.Under("Measurement");
  output.Add("--seconds", r.seconds, "of timed runs for each line, at least; at least ten runs").NotNegative().ShowDefault();
  output.Add("--ops", f.ops, "rows in the table of where a run's time goes, by op and implementation; 0: no table")
      .Between(0, 1000)
      .ShowDefault();
  output.Add("--profile", f.profile, "write a Chrome trace of a run of the last line: a .json file").Values("FILE");
  AddJsonFlag(options, &f.json);
}

}  // namespace

Command BenchCommand() {
  return {"bench", "measures latencies and throughput of a model, or of training a network",
          "  ampc bench model_fp16.pdmodel --dims x=1,3,48,320 --threads 1\n"
          "  ampc bench model.pdmodel --input in.npz --seconds 5 --json\n"
          "  ampc bench model.pdmodel --batch 1,8 --profile trace.json    opens in a trace viewer\n"
          "  ampc bench model.pdmodel --dims x=1,3,48,320 --dims x=1,3,48,400    a second line: the first run with a new width, and the "
          "next ones\n"
          "  ampc bench chain --strict-rounding --no-in-place        what the executor itself costs: 10,000 ops\n"
          "  ampc bench resnet50 --batch 1,8 --level O0,O2\n"
          "  ampc bench simplenet --train --batch 512 --level O0,O1,O2 --device cuda:0",
          [](Options options) -> Action {
            auto flags = std::make_shared<BenchFlags>();
            AddBenchOptions(options, *flags);
            return [flags, options](Console& console) -> absl::Status {
              AMPC_RETURN_IF_ERROR(CheckMeaning(*flags, options));
              return Run(*flags, console);
            };
          }};
}

}  // namespace ampc
