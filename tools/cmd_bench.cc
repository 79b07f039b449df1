// ampc bench: latencies and throughput of a model, or of training one of the built-in networks.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "tools/bench/bench.h"
#include "tools/bench/networks.h"
#include "tools/cli/command.h"
#include "tools/cli/device_check.h"

namespace ampc {
namespace {

struct BenchFlags {
  BenchRequest request;
  std::string dtype = "fp16";
  bool json = false;
};

void PrintText(Console& console, const BenchLine& l) {
  console.Out(absl::StrFormat("%-5s %6d %7d %10s %10s %10s %10s %12.1f %10s %10s\n", l.level.empty() ? "-" : l.level, l.batch, l.runs, HumanSeconds(l.best),
                              HumanSeconds(l.p50), HumanSeconds(l.p90), HumanSeconds(l.p99), l.items_per_second, HumanBytes(l.arena_bytes),
                              HumanSeconds(l.prepare_seconds)));
}

void PrintJson(Console& console, const BenchFlags& flags, const BenchLine& l) {
  const BenchRequest& r = flags.request;
  JsonWriter json;
  json.BeginObject().Field("model", r.model).Field("job", r.train ? "train" : "run").Field("device", r.device).Field("threads", r.threads);
  if (!l.level.empty()) json.Field("level", l.level).Field("dtype", l.level == "O0" ? "fp32" : flags.dtype);
  if (r.train) json.Field("optimizer", r.optimizer).Field("accumulate", r.accumulate).Field("loss", l.loss);
  json.Field("batch", l.batch).Field("runs", l.runs).Field("best_seconds", l.best).Field("p50_seconds", l.p50).Field("p90_seconds", l.p90);
  json.Field("p99_seconds", l.p99).Field("items_per_second", l.items_per_second).Field("arena_bytes", l.arena_bytes);
  json.Field("peak_bytes", l.peak_bytes).Field("prepare_seconds", l.prepare_seconds).EndObject();
  console.Out(json.Take() + "\n");
}

absl::Status Run(BenchFlags flags, Console& console) {
  flags.request.dtype = flags.dtype == "bf16" ? DType::kBF16 : DType::kF16;
  AMPC_RETURN_IF_ERROR(CheckDevice(flags.request.device, console));
  bool first = true;
  return RunBench(flags.request, [&](const BenchLine& line) {
    if (flags.json) return PrintJson(console, flags, line);
    if (std::exchange(first, false)) console.Out("level  batch    runs       best        p50        p90        p99      items/s      arena    prepare\n");
    PrintText(console, line);
  });
}

void AddBenchOptions(CLI::App& app, BenchFlags& f) {
  BenchRequest& r = f.request;
  std::string names;
  for (const BenchNetwork& network : BenchNetworks()) absl::StrAppend(&names, names.empty() ? "" : ", ", network.name);
  app.add_option("model", r.model, absl::StrCat("a model's file, or a network with random weights: ", names))->required();
  app.add_option("--batch", r.batches, "rows of a run; several, separated by commas, give a line each")->delimiter(',')->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--input,-i", r.inputs, "feeds of a model's file: .npz, .safetensors, or NAME=file.npy; default: random values");
  app.add_option("--dims", r.dims, "NAME=1,3,48,320: dims of a feed that the model leaves open");
  app.add_option("--params", r.params, "file with the weights");
  app.add_option("--level", r.levels, "O0, O1, O2 of a network; several, separated by commas")->delimiter(',')->check(CLI::IsMember({"O0", "O1", "O2"}))->capture_default_str();
  app.add_option("--dtype", f.dtype, "fp16 or bf16")->check(CLI::IsMember({"fp16", "bf16"}))->capture_default_str();
  app.add_flag("--train", r.train, "steps of training instead of runs; networks only");
  app.add_option("--optimizer", r.optimizer, "sgd, momentum, adam, adamw or lamb")->capture_default_str();
  app.add_option("--accumulate", r.accumulate, "steps per update")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--device", r.device, "cpu, or cuda:N in a build with CUDA")->capture_default_str();
  app.add_option("--threads", r.threads, "threads of one run; 0: all processors")->capture_default_str();
  app.add_flag("--strict-rounding", r.strict_rounding, "no fusion: every op rounds its result to its type");
  app.add_option("--seconds", r.seconds, "of timed runs for each line, at least; at least ten runs")->check(CLI::NonNegativeNumber)->capture_default_str();
  AddJsonFlag(app, &f.json);
}

}  // namespace

Command BenchCommand() {
  return {"bench", "measures latencies and throughput of a model, or of training a network",
          "  ampc bench model_fp16.pdmodel --dims x=1,3,48,320 --threads 1\n"
          "  ampc bench model.pdmodel --input in.npz --seconds 5 --json\n"
          "  ampc bench resnet50 --batch 1,8 --level O0,O2\n"
          "  ampc bench simplenet --train --batch 512 --level O0,O1,O2 --device cuda:0",
          [](CLI::App& app) -> Action {
            auto flags = std::make_shared<BenchFlags>();
            AddBenchOptions(app, *flags);
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
