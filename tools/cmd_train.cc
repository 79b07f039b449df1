// ampc train: the reference training jobs, in fp32 and in mixed precision.
#include <chrono>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/dtype.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "graph/formats/outputs.h"
#include "runtime/train/data_parallel.h"
#include "runtime/train/trainer.h"
#include "tools/cli/command.h"
#include "tools/cli/device_check.h"
#include "tools/cli/file_extension.h"
#include "tools/train/job.h"
#include "tools/train/plot.h"
#include "tools/train/save.h"

namespace ampc {
namespace {

struct TrainFlags {
  TrainRequest request;
  std::string dtype = "fp16";
  std::string output;
  bool keep_casts = false;
  std::string plot, csv;
  int log_every = 0;
  bool verbose = false;
  bool json = false;
};

// A line per record; on a terminal a bar while an epoch runs.
class Reporter {
 public:
  Reporter(const TrainFlags& flags, Console& console) : flags_(flags), console_(console) {}

  // The table is written row by row: it can be read while the training runs, and stays where that ends early.
  absl::Status OpenTable() {
    if (flags_.csv.empty()) return absl::OkStatus();
    table_.open(flags_.csv);
    table_ << "event,epoch,step,loss,accuracy,scale,skipped,learning_rate,seconds\n" << std::flush;
    return TableStatus();
  }
  absl::Status TableStatus() const {
    return flags_.csv.empty() || table_ ? absl::OkStatus() : InternalError(absl::StrCat(flags_.csv, ": cannot be written"));
  }

  void Start(Trainer& trainer) {
    if (flags_.verbose) {
      for (const std::string& line : DescribeCasts(trainer.program())) console_.Note(line);
    }
    if (!flags_.json) console_.Out("epoch     step      loss  accuracy       scale  skipped  seconds\n");
  }

  void Step(const StepRecord& r) {
    const double at = static_cast<double>(r.step);
    curve_.loss.emplace_back(at, r.loss);
    if (r.scale.has_value()) curve_.scale.emplace_back(at, *r.scale);
    if (!r.alarm.empty()) console_.Note(absl::StrCat("ampc train: ", r.alarm));
    AddRow("step", r.epoch, r.step, r.loss, {}, r.scale, r.skipped ? 1 : 0, r.learning_rate, r.seconds);
    ShowProgress(r);
    if (flags_.verbose && r.skipped)
      console_.Note(absl::StrFormat("step %d: skipped, a gradient or the loss is not finite; scale %g", r.step, r.scale.value_or(1)));
    if (flags_.log_every == 0 || r.step % flags_.log_every != 0) return;
    if (!flags_.json)
      return Text(absl::StrFormat("%5d %8d %9.4f %9s %11s %8s %8.4f\n", r.epoch, r.step, r.loss, "", Number(r.scale),
                                  r.skipped ? "yes" : "", r.seconds));
    JsonWriter json;
    json.BeginObject().Field("event", "step").Field("epoch", r.epoch).Field("step", r.step).Field("loss", r.loss);
    if (r.scale.has_value()) json.Field("scale", *r.scale);
    json.Field("skipped", r.skipped).Field("learning_rate", r.learning_rate).Field("seconds", r.seconds).EndObject();
    Text(json.Take() + "\n");
  }

  void Epoch(const EpochRecord& r) {
    bar_.reset();
    if (r.accuracy.has_value()) curve_.accuracy.emplace_back(static_cast<double>(r.step), *r.accuracy);
    AddRow("epoch", r.epoch, r.step, r.loss, r.accuracy, r.scale, r.skipped, {}, r.seconds);
    if (!flags_.json) {
      const std::string accuracy = r.accuracy.has_value() ? absl::StrFormat("%.4f", *r.accuracy) : "";
      return Text(
          absl::StrFormat("%5d %8d %9.4f %9s %11s %8d %8.2f\n", r.epoch, r.step, r.loss, accuracy, Number(r.scale), r.skipped, r.seconds));
    }
    JsonWriter json;
    json.BeginObject().Field("event", "epoch").Field("epoch", r.epoch).Field("step", r.step).Field("loss", r.loss);
    if (r.accuracy.has_value()) json.Field("accuracy", *r.accuracy).Field("test_rows", r.test_rows).Field("best", r.best);
    if (r.scale.has_value()) json.Field("scale", *r.scale);
    json.Field("skipped", r.skipped).Field("seconds", r.seconds).Field("test_seconds", r.test_seconds).EndObject();
    Text(json.Take() + "\n");
  }

  void Note(const std::string& note) { console_.Note(absl::StrCat("ampc train: ", note)); }

  TrainingCurve Curve(std::string name) {
    curve_.name = std::move(name);
    return std::move(curve_);
  }

 private:
  void AddRow(const char* event, int64_t epoch, int64_t step, double loss, std::optional<double> accuracy, std::optional<double> scale,
              int64_t skipped, std::optional<double> learning_rate, double seconds) {
    if (flags_.csv.empty()) return;
    const auto cell = [](std::optional<double> value) { return value.has_value() ? absl::StrFormat("%.9g", *value) : ""; };
    table_ << absl::StrCat(event, ",", epoch, ",", step, ",", cell(loss), ",", cell(accuracy), ",", cell(scale), ",", skipped, ",",
                           cell(learning_rate), ",", cell(seconds), "\n")
           << std::flush;
  }

  // A bar for the epoch, and the time that is left of all that was asked for, as the steps so far took it.
  void ShowProgress(const StepRecord& r) {
    if (!console_.err_is_terminal()) return;
    const auto now = std::chrono::steady_clock::now();
    if (!first_.has_value()) first_ = {now, r.of_all};
    std::string stage = absl::StrCat("epoch ", r.epoch);
    if (const double done = r.of_all - first_->second; done > 0) {
      const double took = std::chrono::duration<double>(now - first_->first).count();
      absl::StrAppend(&stage, ", ", HumanDuration(took / done * (1 - r.of_all)), " left");
    }
    if (bar_.has_value()) {
      bar_->Stage(stage);
    } else {
      bar_.emplace(console_, stage);
    }
    bar_->Update(r.progress, 1);
  }
  static std::string Number(std::optional<double> value) { return value.has_value() ? absl::StrFormat("%g", *value) : ""; }
  void Text(const std::string& line) {
    bar_.reset();
    console_.Out(line);
  }

  const TrainFlags& flags_;
  Console& console_;
  std::optional<Progress> bar_;
  std::optional<std::pair<std::chrono::steady_clock::time_point, double>> first_;  // step of this run: when, and how much was done
  TrainingCurve curve_;
  std::ofstream table_;
};

absl::Status Check(const TrainFlags& flags) {
  const TrainRequest& r = flags.request;
  AMPC_RETURN_IF_ERROR(CheckExtension("--plot", flags.plot, ".svg", "the picture"));
  AMPC_RETURN_IF_ERROR(CheckExtension("--csv", flags.csv, ".csv", "the table"));
  if (r.test_batches > 0 && !r.test) return UsageError("--test-batches: found --no-test, which leaves tests out");
  if (r.resume && r.checkpoint.empty()) return UsageError("--resume: found no --checkpoint, needed the folder to go on from");
  if (r.checkpoint_every > 0 && r.checkpoint.empty())
    return UsageError("--checkpoint-every: found no --checkpoint, needed the folder to save to");
  if (r.init_scale.has_value() && r.level == "O0") return UsageError("--init-scale: found level O0, needed O1 or O2, which scale the loss");
  AMPC_ASSIGN_OR_RETURN(const NetworkInfo* network, FindNetwork(r.network));
  AMPC_RETURN_IF_ERROR(MakeOptimizer(r, *network).status());
  std::vector<std::string> outputs = ModelFiles(flags.output, "");
  outputs.push_back(flags.plot);
  outputs.push_back(flags.csv);
  AMPC_RETURN_IF_ERROR(CheckOutputs(outputs, {}));
  return r.checkpoint.empty() ? absl::OkStatus() : CheckFolder(r.checkpoint);
}

// The trained model is worth more than its picture and table: their errors come last.
absl::Status Write(const TrainFlags& flags, TrainJob& job, const std::string& picture, absl::Status beside) {
  AtomicFileSet files;
  if (!flags.output.empty()) AMPC_RETURN_IF_ERROR(AddTrained(job, flags.output, !flags.keep_casts, &files));
  if (!flags.plot.empty()) beside.Update(files.AddBefore(flags.plot, picture));
  AMPC_RETURN_IF_ERROR(files.Commit());
  return beside;
}

absl::Status Run(TrainFlags flags, Console& console) {
  flags.request.dtype = flags.dtype == "bf16" ? DType::kBF16 : DType::kF16;
  if (flags.log_every == 0 && flags.json) flags.log_every = 100;
  AMPC_RETURN_IF_ERROR(Check(flags));
  AMPC_RETURN_IF_ERROR(CheckDevice(flags.request.device, console));
  AMPC_ASSIGN_OR_RETURN(const NetworkInfo* network, FindNetwork(flags.request.network));
  Dataset data;
  if (network->data == NetworkData::kImages) {
    AMPC_ASSIGN_OR_RETURN(data, LoadImages(flags.request.data.empty() ? kFashionMnist : flags.request.data));
  }
  AMPC_ASSIGN_OR_RETURN(DataParallel parallel, DataParallel::FromEnvironment());
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<TrainJob> job, TrainJob::Create(flags.request, &data, &parallel));
  if (parallel.is_main() && !flags.output.empty()) AMPC_RETURN_IF_ERROR(CheckCanSave(*job, flags.output, !flags.keep_casts));
  Reporter reporter(flags, console);
  TrainEvents events;
  if (parallel.is_main()) {
    AMPC_RETURN_IF_ERROR(reporter.OpenTable());
    reporter.Start(job->trainer());
    events.step = [&](const StepRecord& record) { reporter.Step(record); };
    events.epoch = [&](const EpochRecord& record) { reporter.Epoch(record); };
    events.note = [&](const std::string& note) { reporter.Note(note); };
  }
  AMPC_RETURN_IF_ERROR(job->Run(events));
  AMPC_RETURN_IF_ERROR(parallel.Finish());
  if (!parallel.is_main()) return absl::OkStatus();
  if (!flags.output.empty()) AMPC_RETURN_IF_ERROR(job->CheckState(flags.output, events));
  std::string picture;
  if (!flags.plot.empty()) {
    const std::string name = flags.request.level == "O0" ? "fp32" : absl::StrCat(flags.request.level, " ", flags.dtype);
    picture = PlotTraining(absl::StrCat("ampc train ", network->name), {reporter.Curve(name)});
  }
  return Write(flags, *job, picture, reporter.TableStatus());
}

void AddTrainOptions(const Options& options, TrainFlags& f) {
  TrainRequest& r = f.request;
  std::string names;
  for (const NetworkInfo& info : Networks()) absl::StrAppend(&names, names.empty() ? "" : ", ", info.name);
  options.Add("network", r.network, names).Required();
  const Options precision = options.Under("Precision");
  precision.Add("--level", r.level, "O0: fp32; O1: lists; O2: everything that may be low").OneOf({"O0", "O1", "O2"}).ShowDefault();
  precision.Add("--dtype", f.dtype, "fp16 or bf16").OneOf({"fp16", "bf16"}).ShowDefault();
  precision.Flag("--guard,!--no-guard", r.guard, "O2: only what the network's fp16_guard holds (default)");
  precision.Add("--init-scale", r.init_scale, "the first loss scale; default 65536, 1 with bf16").Positive();
  const Options optimizer = options.Under("Optimizer");
  optimizer.Add("--optimizer", r.optimizer, "sgd, momentum, adam, adamw or lamb; default: the network's");
  optimizer.Add("--lr", r.learning_rate, "learning rate; default: the network's").NotNegative();
  optimizer
      .Add("--schedule", r.schedule,
           "instead of --lr: piecewise:1000,2000:0.1,0.01,0.001 or cosine:0.1,10000, each also with +warmup:500,0,0.1 behind it")
      .Excludes("--lr");
  optimizer.Add("--momentum", r.momentum, "of the optimizer momentum; default 0.9").Between(0.0, 1.0);
  optimizer.Add("--weight-decay", r.weight_decay, "default: the optimizer's").NotNegative();
  optimizer.Add("--clip", r.clip, "gradients: value:LOW,HIGH, norm:N or global-norm:N");
  const Options steps = options.Under("Steps");
  steps.Add("--batch", r.batch, "rows of a step; default: the network's").Between(1, 1 << 20);
  steps.Add("--accumulate", r.accumulate, "steps per update").Between(1, 1 << 20).ShowDefault();
  steps.Add("--epochs", r.epochs, "times through the data").Between(int64_t{1}, int64_t{1} << 40).ShowDefault();
  steps.Add("--steps", r.steps, "stop after so many steps, instead of --epochs").Between(int64_t{1}, int64_t{1} << 40);
  steps.Add("--seed", r.seed, "of first values and order").ShowDefault();
  steps.Add("--data", r.data, absl::StrCat("folder with the data set; default ", kFashionMnist));
  steps.Flag("!--no-test", r.test, "no test after an epoch");
  steps
      .Add(
          "--test-batches", r.test_batches,
          "batches of 250 of a test; default all of the test set, but no more rows than were trained on where --steps ends within an epoch")
      .Between(int64_t{1}, int64_t{1} << 40);
  steps.Flag("--check-nan-inf", r.check_nan_inf, "stop at the first result that is not finite (exit 1)");
  steps.Flag("--keep-going", r.keep_going,
             "leave out steps without a finite loss, and save what is not finite with a note; else either ends training (exit 1)");
  const Options device = options.Under("Device");
  device.Add("--device", r.device, "cpu, or cuda:N in a build with CUDA").ShowDefault();
  device.Add("--threads", r.threads, "0: all processors").ShowDefault();
  const Options checkpoints = options.Under("Checkpoints");
  checkpoints
      .Add("--checkpoint", r.checkpoint,
           "folder for checkpoints: one per epoch, the last three are kept, and the one whose test went best, in best")
      .Values("FOLDER");
  checkpoints.Add("--checkpoint-every", r.checkpoint_every, "also every so many steps").Between(int64_t{1}, int64_t{1} << 40);
  checkpoints.Flag("--resume", r.resume, "go on from the newest checkpoint");
  const Options output = options.Under("Output");
  output.Add("--output,-o", f.output, "save the trained network for inference: .ampc, .pdmodel or .prog").Values("FILE");
  output.Flag("--keep-casts", f.keep_casts, "save it in mixed precision; else it is fp32 without casts");
  output.Add("--plot", f.plot, "picture of loss, accuracy and scale: an .svg file").Values("FILE");
  output.Add("--csv", f.csv, "every step and epoch as a row of this .csv file, as it ends").Values("FILE");
  output.Add("--log-every", f.log_every, "a line every so many steps; default none, 100 with --json").Between(1, 1 << 30);
  output.Flag("--verbose", f.verbose, "every cast and who wanted it, every skipped step");
  options.Flag("--json", f.json, "a JSON object per line instead of a table");
}

}  // namespace

Command TrainCommand() {
  return {"train", "trains one of the example networks, in fp32 or mixed precision",
          "  ampc train guarded --level O2 --epochs 5 --plot curve.svg -o fashion.pdmodel\n"
          "  ampc train lenet --level O1 --dtype bf16 --optimizer adamw --schedule cosine:0.001,5000+warmup:200,0,0.001\n"
          "  ampc train simplenet --level O2 --accumulate 10 --steps 50 --json\n"
          "  ampc train resnet18 --level O2 --checkpoint runs/a --checkpoint-every 200     then the same with --resume\n"
          "  mpirun -n 2 ampc train guarded --level O2 --threads 1     two processes, half of each batch each; mpirun refuses root, and "
          "says how to allow it",
          [](Options options) -> Action {
            auto flags = std::make_shared<TrainFlags>();
            AddTrainOptions(options, *flags);
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
