// The training part of the quick start: the example of the fp16 guard on Fashion-MNIST in fp32 and in mixed precision; each result is
// saved, stripped to fp32, and run from its file.
//
// usage: quickstart_train WORK [EPOCHS [SEEDS [DATA]]]    WORK: where models and the picture go
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/cli/console.h"
#include "tools/train/job.h"
#include "tools/train/plot.h"
#include "tools/train/save.h"

namespace ampc {
namespace {

struct Variant {
  const char* label;
  const char* file;
  const char* level;
  bool guard;
};
constexpr Variant kVariants[] = {{"fp32", "fp32", "O0", true},
                                 {"O1 fp16", "o1", "O1", true},
                                 {"O2 fp16, guard", "o2", "O2", true},
                                 {"O2 fp16, pure", "o2_pure", "O2", false}};

struct Result {
  std::string label;
  uint64_t seed = 0;
  EpochRecord first, last;
  double seconds = 0, file_accuracy = 0;
  int64_t skipped = 0;
};

// A row of the table that is printed while the training runs.
std::string Row(const Variant& variant, uint64_t seed, const EpochRecord& r) {
  return absl::StrFormat("%-15s %4d %5d  %7.4f  %8.4f  %8s  %7d  %7.2f\n", variant.label, seed, r.epoch, r.loss, r.accuracy.value_or(0),
                         r.scale.has_value() ? absl::StrFormat("%g", *r.scale) : "", r.skipped, r.seconds);
}

absl::StatusOr<Result> Train(const Variant& variant, const TrainRequest& base, const Dataset& data, const std::string& work,
                             Console& console, TrainingCurve& curve) {
  TrainRequest request = base;
  request.level = variant.level;
  request.guard = variant.guard;
  if (request.level != "O0") request.init_scale = 32768;
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<TrainJob> job, TrainJob::Create(request, &data));
  Result result = {.label = variant.label, .seed = request.seed, .first = {}, .last = {}};
  curve.name = variant.label;
  Progress progress(console, variant.label);
  TrainEvents events;
  events.step = [&](const StepRecord& r) {
    curve.loss.emplace_back(static_cast<double>(r.step), r.loss);
    if (r.scale.has_value()) curve.scale.emplace_back(static_cast<double>(r.step), *r.scale);
    progress.Update(static_cast<double>(r.epoch - 1) + r.progress, static_cast<double>(request.epochs));
  };
  events.epoch = [&](const EpochRecord& r) {
    if (r.epoch == 1) result.first = r;
    result.last = r;
    result.seconds += r.seconds;
    result.skipped += r.skipped;
    curve.accuracy.emplace_back(static_cast<double>(r.step), r.accuracy.value_or(0));
    console.Out(Row(variant, request.seed, r));
  };
  AMPC_RETURN_IF_ERROR(job->Run(events));
  const std::string path = absl::StrCat(work, "/fashion_", variant.file, ".pdmodel");
  AMPC_RETURN_IF_ERROR(SaveTrained(*job, path, true));
  AMPC_ASSIGN_OR_RETURN(result.file_accuracy, AccuracyOfFile(path, data.test));
  return result;
}

absl::Status Run(const std::string& work, int epochs, int seeds, const std::string& folder, Console& console) {
  AMPC_ASSIGN_OR_RETURN(const Dataset data, LoadImages(folder));
  std::error_code error;
  std::filesystem::create_directories(work, error);
  TrainRequest request;
  request.epochs = epochs;
  std::vector<TrainingCurve> curves;
  std::vector<std::vector<std::string>> rows = {
      {"type", "seed", "accuracy, 1 epoch", absl::StrCat(epochs, " epochs"), "from the file", "scale", "skipped", "seconds"}};
  console.Out("type            seed epoch     loss  accuracy     scale  skipped  seconds\n");
  for (int seed = 1; seed <= seeds; ++seed) {
    request.seed = static_cast<uint64_t>(seed);
    for (const Variant& variant : kVariants) {
      TrainingCurve curve;
      AMPC_ASSIGN_OR_RETURN(const Result r, Train(variant, request, data, work, console, curve));
      if (seed == 1) curves.push_back(std::move(curve));
      rows.push_back({r.label, absl::StrCat(r.seed), absl::StrFormat("%.4f", r.first.accuracy.value_or(0)),
                      absl::StrFormat("%.4f", r.last.accuracy.value_or(0)), absl::StrFormat("%.4f", r.file_accuracy),
                      r.last.scale.has_value() ? absl::StrFormat("%g", *r.last.scale) : "-", absl::StrCat(r.skipped),
                      absl::StrFormat("%.1f", r.seconds)});
    }
  }
  const std::string picture = work + "/training.svg";
  AMPC_RETURN_IF_ERROR(WriteFileAtomically(picture, PlotTraining("Fashion-MNIST, batch 64, Momentum 0.9, learning rate 0.01", curves)));
  console.Out(absl::StrCat("\n", FormatTable(rows), "\nfrom the file: fashion_*.pdmodel in ", work,
                           ", fp32 without casts, run by a Session.\npicture: ", picture, "\n"));
  return absl::OkStatus();
}

}  // namespace
}  // namespace ampc

int main(int argc, char** argv) {
  ampc::Console console;
  const auto number = [&](int i, int fallback) { return argc > i ? std::atoi(argv[i]) : fallback; };
  if (argc < 2 || argc > 5 || number(2, 5) < 1 || number(3, 1) < 1) {
    console.Note("usage: quickstart_train WORK [EPOCHS [SEEDS [DATA]]]");
    return 2;
  }
  const absl::Status status = ampc::Run(argv[1], number(2, 5), number(3, 1), argc > 4 ? argv[4] : ampc::kFashionMnist, console);
  if (!status.ok()) console.Note(absl::StrCat("quickstart_train: ", status.message()));
  return static_cast<int>(ampc::ExitCodeOf(status));
}
