// ampc compare: two models on the same inputs, value by value, and a verdict about the outputs.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/base/utf8.h"
#include "graph/formats/files_read.h"
#include "graph/formats/outputs.h"
#include "runtime/compare/compare_json.h"
#include "runtime/compare/compare_models.h"
#include "tools/cli/command.h"
#include "tools/cli/compare_flags.h"
#include "tools/cli/device_check.h"
#include "tools/cli/feed_options.h"
#include "tools/cli/file_extension.h"

namespace ampc {
namespace {

struct Shown {
  bool all = false;
  bool json = false;
  std::string csv;
};

std::vector<std::string> Row(const ComparedValue& v) {
  const std::string types = v.dtype_a == v.dtype_b ? std::string(Name(v.dtype_a)) : absl::StrCat(Name(v.dtype_a), " / ", Name(v.dtype_b));
  const std::string verdict = !v.fetch ? "" : absl::StrCat(v.verdict.passed ? "PASS  " : "FAIL  ", v.verdict.why);
  if (!v.same_dims) return {v.name, v.op, types, "-", "-", "-", "-", "-", "-", v.fetch ? verdict : "other dims"};
  const Difference& d = v.difference;
  const std::string odd = d.mismatched_non_finite > 0 ? absl::StrCat(d.mismatched_non_finite, " not finite in one") : "";
  if (d.elements == d.both_non_finite) return {v.name, v.op, types, "-", "-", "-", "-", "-", "-", v.fetch ? verdict : "not finite in both"};
  return {v.name,
          v.op,
          types,
          absl::StrFormat("%.3g", d.max_abs),
          absl::StrFormat("%.3g", d.max_rel),
          absl::StrFormat("%.3g", d.mean_rel),
          v.fetch ? absl::StrFormat("%.3g", d.p99_rel) : "-",
          absl::StrFormat("%.4g", d.max_ulp),
          absl::StrFormat("%.9f", d.cosine),
          v.fetch ? verdict : odd};
}

void PrintText(Console& console, const std::string& a, bool all, const ModelComparison& c) {
  std::vector<std::vector<std::string>> rows = {{"value", "op", "type", "max abs", "max rel", "mean", "p99", "max ulp", "cosine", ""}};
  for (const ComparedValue& v : c.values) {
    if (all || v.fetch || v.diverges) rows.push_back(Row(v));
  }
  console.Out(FormatTable(rows));
  console.Out(
      absl::StrCat(c.values.size(), " values compared; max rel, mean and p99 are over the largest magnitude of the value in ", a, "\n"));
  if (c.lost_most.has_value()) {
    console.Out(absl::StrFormat("lost most: '%s' (%s): max rel %.3g, before it at most %.3g\n", Printable(c.lost_most->name),
                                c.lost_most->op, c.lost_most->after, c.lost_most->before));
  }
  if (c.first_divergence.has_value()) {
    const ComparedValue& first = c.values[*c.first_divergence];
    console.Out(absl::StrCat("first divergence: '", Printable(first.name), "' (", first.op, ")\n"));
  }
  if (!c.runs.empty()) {
    for (const ComparedRun& run : c.runs)
      console.Out(absl::StrCat(run.passed ? "pass  " : "fail  ", run.source, ": ", Printable(run.reason), "\n"));
    console.Out(absl::StrCat("the values above are those of ", c.runs[c.worst].source,
                             c.passed ? ", which differs most\n" : ", the first that fails\n"));
  }
  console.Out(absl::StrCat(c.passed ? "PASS: " : "FAIL: ", Printable(c.reason), "\n"));
}

absl::StatusOr<ModelComparison> CompareFiles(const CompareFlags& flags, Console& console) {
  Progress progress(console, "loading");
  AMPC_ASSIGN_OR_RETURN(const ComparedModel a, ComparedModel::Load(flags.a, SessionOfA(flags)));
  AMPC_ASSIGN_OR_RETURN(const ComparedModel b, ComparedModel::Load(flags.b, SessionOfB(flags)));
  CompareFlags telling = flags;
  telling.options.on_stage = [&progress](const std::string& stage) {
    progress.Stage(stage);
    return true;
  };
  std::string note;
  AMPC_ASSIGN_OR_RETURN(ModelComparison comparison, CompareOnFeeds(telling, a, b, nullptr, &note));
  if (!note.empty()) console.Note(note);
  return comparison;
}

absl::Status CheckTable(const CompareFlags& flags, const std::string& csv) {
  AMPC_RETURN_IF_ERROR(CheckExtension("--csv", csv, ".csv", "the table"));
  std::vector<std::string> inputs = ModelFiles(flags.a, flags.params_a);
  for (const std::string& file : ModelFiles(flags.b, flags.params_b)) inputs.push_back(file);
  for (const std::string& source : flags.feeds.inputs) inputs.push_back(FileOfFeeds(source));
  return CheckOutputs({csv}, inputs);
}

absl::Status Run(const Options& options, const CompareFlags& flags, const Shown& shown, Console& console) {
  AMPC_RETURN_IF_ERROR(CheckFeedFlags(options, flags.feeds));
  for (const std::string& device : {flags.device, flags.device_b}) {
    if (!device.empty()) AMPC_RETURN_IF_ERROR(CheckDevice(device, console));
  }
  FilesRead read;
  AMPC_RETURN_IF_ERROR(CheckTable(flags, shown.csv));
  AMPC_ASSIGN_OR_RETURN(const ModelComparison comparison, CompareFiles(flags, console));
  if (!shown.csv.empty()) {
    AMPC_RETURN_IF_ERROR(CheckNotRead({shown.csv}, read));
    AtomicFileSet files;
    AMPC_RETURN_IF_ERROR(files.Add(shown.csv, ComparisonCsv(comparison)));
    AMPC_RETURN_IF_ERROR(files.Commit());
  }
  if (shown.json) {
    console.Out(ComparisonJson(flags.a, flags.b, comparison));
  } else {
    PrintText(console, flags.a, shown.all, comparison);
  }
  return comparison.passed ? absl::OkStatus() : NoError("");  // the reason is printed
}

}  // namespace

Command CompareCommand() {
  return {"compare", "runs two models on the same inputs, compares them value by value, and says PASS or FAIL",
          "  ampc compare model.pdmodel model_fp16.pdmodel in.npz\n"
          "  ampc compare model.onnx model_fp16.onnx --random --dims image=1,3,224,224\n"
          "  ampc compare model.onnx model_fp16.onnx a.npz b.npz --csv values.csv                several runs: each has to pass\n"
          "  ampc compare model.pdmodel model_fp16.pdmodel in.npz --rtol 1e-2 --atol 1e-3        element by element, as numpy.allclose\n"
          "  ampc compare model.pdmodel model_fp16.pdmodel in.npz --tolerance 0.02 --all         exit 1 when an output differs by more\n"
          "  ampc compare model.pdmodel model.pdmodel in.npz --device-b cuda:0                   one model on two devices\n"
          "\nOutputs that are probabilities of classes pass where the first class stays, maps that a sigmoid makes where what is above 1/2 "
          "stays\n"
          "(of a thousand elements and more), others where the largest difference over the largest value is at most\n"
          "1e-4 (fp32), 0.031 (fp16) or 0.125 (bf16). FAIL is exit code 1.",
          [](Options options) -> Action {
            auto flags = std::make_shared<CompareFlags>();
            auto shown = std::make_shared<Shown>();
            AddCompareOptions(options, *flags);
            options.Flag("--all", shown->all, "list every value, not only outputs and what diverges");
            options.Add("--csv", shown->csv, "every value as a row of this .csv file").Values("FILE");
            AddJsonFlag(options, &shown->json);
            return [options, flags, shown](Console& console) { return Run(options, *flags, *shown, console); };
          }};
}

}  // namespace ampc
