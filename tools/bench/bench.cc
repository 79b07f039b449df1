#include "tools/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/evaluator.h"
#include "passes/analysis/target_support.h"
#include "passes/autodiff/append_backward.h"
#include "passes/train/optimizer.h"
#include "runtime/compare/difference.h"
#include "runtime/convert/options.h"
#include "runtime/session.h"
#include "runtime/train/decorate.h"
#include "runtime/train/trainer.h"
#include "tools/bench/feeds.h"
#include "tools/bench/networks.h"
#include "tools/train/request.h"

namespace ampc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUp = 3;  // runs; a device captures its work in the last of them
constexpr int64_t kMinRuns = 10;
constexpr int kProfileRuns = 5;
constexpr int64_t kEnqueued = 10;  // updates of a training on a device between two waits

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Of the processors that all threads of this process took so far.
double CpuSeconds() {
  std::timespec t = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Of this process alone: getrusage counts from the size of what started it.
int64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    int64_t kilobytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %" SCNd64, &kilobytes) == 1) return kilobytes * 1024;
  }
  return 0;
}

double Percentile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
}

// Seconds of every run, and the least of the processor.
struct Measured {
  std::vector<double> runs;
  double best_cpu = std::numeric_limits<double>::infinity();
};

void Summarize(Measured measured, BenchLine* line) {
  std::vector<double>& runs = measured.runs;
  line->best_cpu = measured.best_cpu;
  std::sort(runs.begin(), runs.end());
  line->runs = static_cast<int64_t>(runs.size());
  line->best = runs.front();
  line->p50 = Percentile(runs, 0.5);
  line->p90 = Percentile(runs, 0.9);
  line->p99 = Percentile(runs, 0.99);
  line->items_per_second = static_cast<double>(line->batch) / line->p50;
  line->peak_bytes = PeakBytes();
}

// "O2, batch 8: timing"
void ReportLineStage(const BenchRequest& request, const BenchLine& line, absl::string_view what) {
  if (request.stage == nullptr) return;
  request.stage(absl::StrCat(line.level.empty() ? "" : line.level + ", ", "batch ", line.batch, ": ", what));
}

// One call of `run` counts as `parts` runs.
absl::StatusOr<Measured> Measure(double seconds, int64_t parts, const std::function<absl::Status()>& run) {
  Measured measured;
  const Clock::time_point start = Clock::now();
  while (static_cast<int64_t>(measured.runs.size()) < kMinRuns || SecondsSince(start) < seconds) {
    const double cpu = CpuSeconds();
    const Clock::time_point begin = Clock::now();
    AMPC_RETURN_IF_ERROR(run());
    measured.runs.push_back(SecondsSince(begin) / static_cast<double>(parts));
    measured.best_cpu = std::min(measured.best_cpu, (CpuSeconds() - cpu) / static_cast<double>(parts));
  }
  return measured;
}

absl::Status BenchSession(const BenchRequest& request, const Session& session, const TensorMap& feeds, BenchLine* line) {
  const auto run = [&] { return session.Run(feeds).status(); };
  ReportLineStage(request, *line, "first run");
  const Clock::time_point start = Clock::now();
  AMPC_RETURN_IF_ERROR(run());
  line->first_run_seconds = SecondsSince(start);
  for (int i = 1; i < kWarmUp; ++i) AMPC_RETURN_IF_ERROR(run());
  ReportLineStage(request, *line, "timing");
  AMPC_ASSIGN_OR_RETURN(Measured measured, Measure(request.seconds, 1, run));
  line->arena_bytes = session.arena_bytes();
  for (const auto& [name, t] : feeds) line->dims[name].assign(t.dims().begin(), t.dims().end());
  Summarize(std::move(measured), line);
  if (request.profile) {
    ReportLineStage(request, *line, "where the time goes");
    AMPC_ASSIGN_OR_RETURN(line->profile.emplace(), ProfileSession(session, feeds, kProfileRuns));
  }
  return absl::OkStatus();
}

SessionOptions OptionsOf(const BenchRequest& request) {
  SessionOptions options;
  options.device = request.device;
  options.threads = request.threads;
  options.strict_rounding = request.strict_rounding;
  options.tune_plans = request.tune_plans;
  options.in_place = request.in_place;
  options.params = request.params;
  return options;
}

absl::Status BenchFile(const BenchRequest& request, const std::function<void(const BenchLine&)>& report) {
  if (request.train) return UsageError(absl::StrCat("--train: found a model in a file, needed one of ", BenchNetworkNames()));
  ReportStage(request.stage, "loading");
  const Clock::time_point start = Clock::now();
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Load(request.model, OptionsOf(request)));
  const double load_seconds = SecondsSince(start);
  AMPC_ASSIGN_OR_RETURN(const std::vector<TensorMap> lines, BenchFeeds(session, request.inputs, request.dims, request.batches));
  if (request.loaded != nullptr) AMPC_RETURN_IF_ERROR(request.loaded());
  for (const TensorMap& feeds : lines) {
    BenchLine line;
    line.batch = BatchOf(session.inputs(), feeds);
    line.load_seconds = load_seconds;
    AMPC_RETURN_IF_ERROR(BenchSession(request, session, feeds, &line));
    report(line);
  }
  return absl::OkStatus();
}

absl::Status BenchInference(const BenchRequest& request, const BenchNetwork& network, const std::string& level,
                            const std::function<void(const BenchLine&)>& report) {
  ReportStage(request.stage, absl::StrCat("building ", network.name));
  const Clock::time_point start = Clock::now();
  ProgramBuilder b(network.name);
  b.Fetch(network.build(b).output);
  AMPC_RETURN_IF_ERROR(b.status());
  Program program = b.CloneForTest();
  std::erase_if(program.feeds, [](const Var* feed) { return feed->name() == "y"; });
  AMPC_ASSIGN_OR_RETURN(const PrecisionSupport* support, TargetSupport("cuda"));
  const std::unique_ptr<Evaluator> evaluator = MakeCpuEvaluator();
  PassContext ctx;
  ctx.support = support;
  ctx.evaluator = evaluator.get();
  ConvertOptions convert;
  convert.level = level;
  convert.dtype = request.dtype;
  AMPC_RETURN_IF_ERROR(RunPipeline(Pipeline().Add("drop-dead"), {}, ctx, program));
  AMPC_RETURN_IF_ERROR(RunPipeline(ConvertPipeline(convert), {}, ctx, program));
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(std::move(program), OptionsOf(request)));
  const double load_seconds = SecondsSince(start);
  for (int64_t batch : request.batches) {
    BenchLine line;
    line.level = level;
    line.batch = batch;
    line.load_seconds = load_seconds;
    AMPC_ASSIGN_OR_RETURN(const TensorMap feeds, network.feeds(batch, false));
    AMPC_RETURN_IF_ERROR(BenchSession(request, session, feeds, &line));
    report(line);
  }
  return absl::OkStatus();
}

absl::StatusOr<Trainer> MakeTrainer(const BenchRequest& request, const BenchNetwork& network, const std::string& level) {
  ProgramBuilder b(network.name);
  const Network net = network.build(b);
  b.Fetch(net.loss);
  AMPC_RETURN_IF_ERROR(b.status());
  TrainRequest train;
  train.optimizer = request.optimizer;
  NetworkInfo info = {};
  info.optimizer = "momentum";
  info.learning_rate = 1e-4;
  AMPC_ASSIGN_OR_RETURN(Optimizer optimizer, MakeOptimizer(train, info));
  TrainerOptions trainer_options;
  trainer_options.device = request.device;
  trainer_options.threads = request.threads;
  trainer_options.accumulate = request.accumulate;
  if (level == "O0") {
    AMPC_ASSIGN_OR_RETURN(const std::vector<VarGradient> gradients, AppendBackward(b.program(), *net.loss.var));
    AMPC_RETURN_IF_ERROR(optimizer.ApplyGradients(b.program(), b.startup(), gradients).status());
    return Trainer::Create(b.Build(), trainer_options);
  }
  amp::DecorateOptions options;
  options.level = level;
  options.dtype = request.dtype;
  options.use_pure_fp16 = level == "O2";
  const auto decorated = amp::Decorate(std::move(optimizer), options);
  AMPC_RETURN_IF_ERROR(decorated->Minimize(b, net.loss));
  AMPC_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(b.Build(), trainer_options));
  AMPC_RETURN_IF_ERROR(decorated->AmpInit(trainer_options, trainer.scope(), {}));
  return trainer;
}

absl::Status BenchTraining(const BenchRequest& request, const BenchNetwork& network, const std::string& level,
                           const std::function<void(const BenchLine&)>& report) {
  for (int64_t batch : request.batches) {
    const Clock::time_point start = Clock::now();
    BenchLine line;
    line.level = level;
    line.batch = batch;
    ReportLineStage(request, line, "building");
    AMPC_ASSIGN_OR_RETURN(Trainer trainer, MakeTrainer(request, network, level));
    line.load_seconds = SecondsSince(start);
    AMPC_ASSIGN_OR_RETURN(const TensorMap feeds, network.feeds(batch, true));
    for (const auto& [name, t] : feeds) line.dims[name].assign(t.dims().begin(), t.dims().end());
    const auto step = [&]() -> absl::Status {
      AMPC_ASSIGN_OR_RETURN(const TensorMap out, trainer.Step(feeds));
      if (!out.empty()) line.loss = ToDoubles(out.begin()->second)[0];
      return absl::OkStatus();
    };
    // A device is kept busy: the host waits once for several steps.
    const int64_t enqueued = request.device == "cpu" ? 0 : kEnqueued * request.accumulate;
    const auto burst = [&]() -> absl::Status {
      if (enqueued == 0) return step();
      for (int64_t i = 0; i < enqueued; ++i) AMPC_RETURN_IF_ERROR(trainer.Enqueue(feeds));
      return trainer.Wait();
    };
    ReportLineStage(request, line, "first step");
    const Clock::time_point first = Clock::now();
    AMPC_RETURN_IF_ERROR(step());
    line.first_run_seconds = SecondsSince(first);
    for (int i = 1; i < kWarmUp * request.accumulate; ++i) AMPC_RETURN_IF_ERROR(burst());
    ReportLineStage(request, line, "timing");
    AMPC_ASSIGN_OR_RETURN(Measured measured, Measure(request.seconds, std::max<int64_t>(1, enqueued), burst));
    if (enqueued > 0) AMPC_RETURN_IF_ERROR(step());
    line.arena_bytes = trainer.arena_bytes();
    Summarize(std::move(measured), &line);
    report(line);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunBench(const BenchRequest& request, const std::function<void(const BenchLine&)>& line) {
  const BenchNetwork* network = FindBenchNetwork(request.model);
  if (network == nullptr) return BenchFile(request, line);
  for (const std::string& level : request.levels) {
    AMPC_RETURN_IF_ERROR(request.train ? BenchTraining(request, *network, level, line) : BenchInference(request, *network, level, line));
  }
  return absl::OkStatus();
}

}  // namespace ampc
