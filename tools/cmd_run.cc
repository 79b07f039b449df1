// ampc run: feeds from a file, fetches to a file or a summary.
#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/files_read.h"
#include "graph/formats/outputs.h"
#include "runtime/session.h"
#include "tools/cli/command.h"
#include "tools/cli/device_check.h"
#include "tools/cli/feed_options.h"
#include "tools/cli/file_extension.h"
#include "tools/cli/observers.h"
#include "tools/cli/tensors.h"

namespace ampc {
namespace {

struct RunFlags {
  std::string model;
  FeedFlags feeds;
  std::string output;
  SessionOptions session;
  int repeat = 1;
  bool check_nan_inf = false;
  bool verbose = false;
  std::string profile;
  bool json = false;
};

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Timing {
  double load = 0;
  double first = 0;
  std::vector<double> runs;  // without the first, sorted
};

std::string Summary(const HostTensor& t) {
  const TensorStats stats = StatsOf(t);
  return absl::StrFormat("min %.6g  max %.6g  mean %.6g%s", stats.min, stats.max, stats.mean,
                         stats.non_finite > 0 ? absl::StrCat("  not finite: ", stats.non_finite) : "");
}

void PrintText(Console& console, const Session& session, const TensorMap& fetches, const Timing& timing) {
  std::vector<std::vector<std::string>> rows = {{"fetch", "type", "values"}};
  for (const ValueInfo& output : session.outputs()) {
    const HostTensor& t = fetches.at(output.name);
    rows.push_back({output.name, absl::StrCat(Name(t.dtype()), " ", ShapeToString(t.dims())), Summary(t)});
  }
  console.Out(FormatTable(rows));
  std::string line = absl::StrCat("load ", HumanSeconds(timing.load), ", first run ", HumanSeconds(timing.first));
  if (!timing.runs.empty()) {
    absl::StrAppend(&line, ", then ", timing.runs.size(), " runs: best ", HumanSeconds(timing.runs.front()), ", median ",
                    HumanSeconds(timing.runs[timing.runs.size() / 2]));
  }
  console.Out(line + "\n");
}

void PrintJson(Console& console, const RunFlags& flags, const TensorMap& fetches, const Timing& timing, const Session& session) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("model", flags.model).Key("fetches").BeginArray();
  for (const ValueInfo& output : session.outputs()) {
    const std::string& name = output.name;
    const HostTensor& t = fetches.at(name);
    const TensorStats stats = StatsOf(t);
    json.BeginObject(JsonWriter::kInline).Field("name", name).Field("dtype", Name(t.dtype())).Key("dims").Ints(t.dims());
    json.Field("min", stats.min).Field("max", stats.max).Field("mean", stats.mean).Field("non_finite", stats.non_finite).EndObject();
  }
  json.EndArray().Field("load_seconds", timing.load).Field("first_run_seconds", timing.first);
  if (!timing.runs.empty()) {
    json.Field("runs", timing.runs.size()).Field("best_seconds", timing.runs.front());
    json.Field("median_seconds", timing.runs[timing.runs.size() / 2]);
  }
  json.Field("arena_bytes", session.arena_bytes()).EndObject();
  console.Out(json.Take() + "\n");
}

absl::Status CheckFiles(const RunFlags& flags) {
  AMPC_RETURN_IF_ERROR(CheckExtension("--profile", flags.profile, ".json", "the trace of Chrome"));
  if (!flags.output.empty()) AMPC_RETURN_IF_ERROR(CheckTensorFileName(flags.output));
  std::vector<std::string> inputs = ModelFiles(flags.model, flags.session.params);
  for (const std::string& source : flags.feeds.inputs) inputs.push_back(FileOfFeeds(source));
  return CheckOutputs({flags.output, flags.profile, flags.session.tune_plans}, inputs);
}

absl::Status Run(const Options& declared, const RunFlags& flags, Console& console) {
  FilesRead read;
  AMPC_RETURN_IF_ERROR(CheckFeedFlags(declared, flags.feeds));
  AMPC_RETURN_IF_ERROR(CheckFiles(flags));
  AMPC_RETURN_IF_ERROR(CheckDevice(flags.session.device, console));
  Progress progress(console, "loading");
  Timing timing;
  const Clock::time_point start = Clock::now();
  SessionOptions options = flags.session;
  options.excess_precision = !flags.check_nan_inf;  // what leaves the range of a low type is to be seen
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Load(flags.model, options));
  timing.load = SecondsSince(start);
  TensorMap feeds, fetches;
  RunObserver observer({.check_nan_inf = flags.check_nan_inf, .verbose = flags.verbose, .trace = !flags.profile.empty()}, console);
  const auto run_first = [&](const TensorMap& given) -> absl::Status {
    AMPC_RETURN_IF_ERROR(CheckNotRead({flags.output, flags.profile}, read));
    const Clock::time_point first = Clock::now();
    progress.Stage("first run");
    AMPC_ASSIGN_OR_RETURN(fetches, observer.needed() ? session.Run(given, observer) : session.Run(given));
    timing.first = SecondsSince(first);
    feeds = given;
    return absl::OkStatus();
  };
  std::string note;
  AMPC_RETURN_IF_ERROR(UseFeeds(flags.feeds, session, run_first, &note));
  if (!note.empty()) console.Note(note);
  progress.Stage("running");
  for (int i = 1; i < flags.repeat; ++i) {
    const Clock::time_point begin = Clock::now();
    AMPC_ASSIGN_OR_RETURN(fetches, session.Run(feeds));
    timing.runs.push_back(SecondsSince(begin));
    progress.Update(i, flags.repeat);
  }
  std::sort(timing.runs.begin(), timing.runs.end());
  AtomicFileSet files;
  if (!flags.profile.empty()) AMPC_RETURN_IF_ERROR(files.Add(flags.profile, observer.TraceJson()));
  if (!flags.output.empty()) AMPC_RETURN_IF_ERROR(AddTensors(flags.output, fetches, &files));
  AMPC_RETURN_IF_ERROR(files.Commit());
  if (flags.json) {
    PrintJson(console, flags, fetches, timing, session);
  } else {
    PrintText(console, session, fetches, timing);
  }
  return absl::OkStatus();
}

}  // namespace

Command RunCommand() {
  return {"run", "runs a model on inputs from files, or made up",
          "  ampc run model.pdmodel in.npz -o out.npz\n"
          "  ampc run model.onnx --random --dims image=1,3,224,224\n"
          "  ampc run model.onnx image=photo.jpg --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225\n"
          "  ampc run model_fp16.pdmodel --input in.npz --repeat 50 --threads 1 --json\n"
          "  ampc run model_fp16.pdmodel --input in.npz --check-nan-inf     names the first op whose result is not finite\n"
          "  ampc run model_fp16.pdmodel --input in.npz --profile trace.json  opens in a trace viewer",
          [](Options options) -> Action {
            auto flags = std::make_shared<RunFlags>();
            options.Add("model", flags->model, kModelHelp).Required();
            AddFeedOptions(options, &flags->feeds);
            options.Add("--output,-o", flags->output, "fetches: .npz or .safetensors").Values("FILE");
            options.Add("--params", flags->session.params, "file with the weights").Values("FILE");
            options.Add("--device", flags->session.device, "cpu, or cuda:N in a build with CUDA").ShowDefault();
            options.Add("--threads", flags->session.threads, "threads of one run; 0: all processors").ShowDefault();
            options.Add("--repeat", flags->repeat, "run this often and print latencies").Between(1, 1000000).ShowDefault();
            options.Add("--tune-plans", flags->session.tune_plans, kTunePlansHelp).Values("FILE");
            options.Flag("--strict-rounding", flags->session.strict_rounding,
                         "no fusion, and every op rounds its result to its type; else fp16 keeps float32 between ops on a CPU");
            options.Flag("--check-nan-inf", flags->check_nan_inf,
                         "stop at the first result that is not finite (exit 1), each rounded to its type");
            options.Flag("--verbose", flags->verbose, "a line per step: op, implementation, types, time");
            options.Add("--profile", flags->profile, "write a Chrome trace of the first run: a .json file").Values("FILE");
            AddJsonFlag(options, &flags->json);
            return [options, flags](Console& console) { return Run(options, *flags, console); };
          }};
}

}  // namespace ampc
