// ampc compare: two models on the same inputs, value by value, and a verdict about the outputs.
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "graph/base/utf8.h"
#include "runtime/compare/compare_models.h"
#include "tools/cli/command.h"
#include "tools/cli/device_check.h"
#include "tools/cli/feed_options.h"
#include "tools/cli/tensors.h"

namespace ampc {
namespace {

struct CompareFlags {
  std::string a, b;
  std::string params_a, params_b;
  FeedFlags feeds;
  CompareOptions options;
  std::string device = "cpu", device_b;
  int threads = 0;
  bool all = false;
  bool json = false;
};

// Worth a line although nobody asked for all values. What no tolerance was given for counts only where it is no number.
bool Stands(const ComparedValue& v, const CompareOptions& options) {
  return v.fetch || !v.same_dims || v.difference.mismatched_non_finite > 0 ||
         (options.of_largest.has_value() && !(v.difference.max_rel <= *options.of_largest));
}

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

const ComparedValue* FirstDivergence(const ModelComparison& c, const CompareOptions& options) {
  for (const ComparedValue& v : c.values) {
    if (v.fetch ? !v.verdict.passed : Stands(v, options)) return &v;
  }
  return nullptr;
}

void PrintText(Console& console, const CompareFlags& flags, const ModelComparison& c) {
  std::vector<std::vector<std::string>> rows = {{"value", "op", "type", "max abs", "max rel", "mean", "p99", "max ulp", "cosine", ""}};
  for (const ComparedValue& v : c.values) {
    if (flags.all || Stands(v, flags.options)) rows.push_back(Row(v));
  }
  console.Out(FormatTable(rows));
  console.Out(absl::StrCat(c.values.size(), " values compared; max rel, mean and p99 are over the largest magnitude of the value in ",
                           flags.a, "\n"));
  if (c.lost_most.has_value()) {
    console.Out(absl::StrFormat("lost most: '%s' (%s): max rel %.3g, before it at most %.3g\n", Printable(c.lost_most->name),
                                c.lost_most->op, c.lost_most->after, c.lost_most->before));
  }
  if (const ComparedValue* first = FirstDivergence(c, flags.options)) {
    console.Out(absl::StrCat("first divergence: '", Printable(first->name), "' (", first->op, ")\n"));
  }
  console.Out(absl::StrCat(c.passed ? "PASS: " : "FAIL: ", Printable(c.reason), "\n"));
}

void PrintValue(JsonWriter& json, const ComparedValue& v) {
  json.BeginObject(JsonWriter::kInline)
      .Field("name", v.name)
      .Field("op", v.op)
      .Field("dtype_a", Name(v.dtype_a))
      .Field("dtype_b", Name(v.dtype_b));
  json.Field("same_dims", v.same_dims)
      .Field("fetch", v.fetch)
      .Field("max_abs", v.difference.max_abs)
      .Field("max_rel", v.difference.max_rel);
  json.Field("mean_rel", v.difference.mean_rel).Field("max_ulp", v.difference.max_ulp).Field("cosine", v.difference.cosine);
  json.Field("mismatched_non_finite", v.difference.mismatched_non_finite).Field("both_non_finite", v.difference.both_non_finite);
  if (v.fetch) json.Field("p99_rel", v.difference.p99_rel).Field("passed", v.verdict.passed).Field("why", v.verdict.why);
  json.EndObject();
}

void PrintJson(Console& console, const CompareFlags& flags, const ModelComparison& c) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject()
      .Field("a", flags.a)
      .Field("b", flags.b)
      .Field("passed", c.passed)
      .Field("reason", c.reason)
      .Field("lowest", Name(c.lowest));
  json.Key("values").BeginArray();
  for (const ComparedValue& v : c.values) PrintValue(json, v);
  json.EndArray().Key("lost_most");
  if (c.lost_most.has_value()) {
    json.BeginObject(JsonWriter::kInline)
        .Field("name", c.lost_most->name)
        .Field("op", c.lost_most->op)
        .Field("before", c.lost_most->before);
    json.Field("after", c.lost_most->after).EndObject();
  } else {
    json.Null();
  }
  json.Key("first_divergence");
  if (const ComparedValue* first = FirstDivergence(c, flags.options)) {
    json.String(first->name);
  } else {
    json.Null();
  }
  json.EndObject();
  console.Out(json.Take() + "\n");
}

absl::StatusOr<ModelComparison> CompareFiles(const CompareFlags& flags, Console& console) {
  Progress progress(console, "loading");
  // Each result is rounded to its type, as on a device; to see every value, nothing is fused.
  SessionOptions options{
      .device = flags.device, .threads = flags.threads, .strict_rounding = !flags.options.outputs_only, .params = flags.params_a};
  options.excess_precision = false;
  AMPC_ASSIGN_OR_RETURN(const ComparedModel a, ComparedModel::Load(flags.a, options));
  options.params = flags.params_b;
  if (!flags.device_b.empty()) options.device = flags.device_b;
  AMPC_ASSIGN_OR_RETURN(const ComparedModel b, ComparedModel::Load(flags.b, options));
  AMPC_ASSIGN_OR_RETURN(const TensorMap feeds_a, FeedsOf(flags.feeds, a.session()));
  AMPC_ASSIGN_OR_RETURN(const TensorMap feeds_b,
                        flags.feeds.random ? InTypesOf(feeds_a, b.session().inputs()) : FeedsOf(flags.feeds, b.session()));
  CompareOptions how = flags.options;
  how.on_stage = [&progress](const std::string& stage) { progress.Stage(stage); };
  absl::StatusOr<ModelComparison> comparison = CompareModels(a, feeds_a, b, feeds_b, how);
  if (!comparison.ok()) return WithMadeDims(comparison.status(), flags.feeds, feeds_a);
  return comparison;
}

absl::Status Run(const Options& options, const CompareFlags& flags, Console& console) {
  AMPC_RETURN_IF_ERROR(CheckFeedFlags(options, flags.feeds));
  for (const std::string& device : {flags.device, flags.device_b}) {
    if (!device.empty()) AMPC_RETURN_IF_ERROR(CheckDevice(device, console));
  }
  AMPC_ASSIGN_OR_RETURN(const ModelComparison comparison, CompareFiles(flags, console));
  if (flags.json) {
    PrintJson(console, flags, comparison);
  } else {
    PrintText(console, flags, comparison);
  }
  return comparison.passed ? absl::OkStatus() : NoError(comparison.reason);
}

}  // namespace

Command CompareCommand() {
  return {"compare", "runs two models on the same inputs, compares them value by value, and says PASS or FAIL",
          "  ampc compare model.pdmodel model_fp16.pdmodel in.npz\n"
          "  ampc compare model.onnx model_fp16.onnx --random --dims image=1,3,224,224\n"
          "  ampc compare model.pdmodel model_fp16.pdmodel in.npz --rtol 1e-2 --atol 1e-3        element by element, as numpy.allclose\n"
          "  ampc compare model.pdmodel model_fp16.pdmodel in.npz --tolerance 0.02 --all         exit 1 when an output differs by more\n"
          "  ampc compare model.pdmodel model.pdmodel in.npz --device-b cuda:0                   one model on two devices\n"
          "\nOutputs that are probabilities of classes pass where the first class stays, others where the largest difference over the "
          "largest value is at most\n"
          "1e-4 (fp32), 0.031 (fp16) or 0.125 (bf16). FAIL is exit code 1.",
          [](Options options) -> Action {
            auto flags = std::make_shared<CompareFlags>();
            options.Add("a", flags->a, "the reference model").Required();
            options.Add("b", flags->b, "the model to judge").Required();
            AddFeedOptions(options, &flags->feeds);
            options.Add("--params-a", flags->params_a, "file with the weights of the first model");
            options.Add("--params-b", flags->params_b, "file with the weights of the second model");
            options.Add("--tolerance", flags->options.of_largest, "largest allowed max rel of every output").NotNegative();
            options.Add("--rtol", flags->options.rtol, "each element may differ by ATOL + RTOL |a|").NotNegative();
            options.Add("--atol", flags->options.atol, "as --rtol").NotNegative();
            options.Flag("--outputs-only", flags->options.outputs_only, "only outputs; the models run fused, as they run otherwise");
            options.Add("--device", flags->device, "cpu, or cuda:N in a build with CUDA").ShowDefault();
            options.Add("--device-b", flags->device_b, "where the second model runs; default: --device");
            options.Add("--threads", flags->threads, "threads of one run; 0: all processors").ShowDefault();
            options.Flag("--all", flags->all, "list every value, not only outputs and what diverges");
            AddJsonFlag(options, &flags->json);
            return [options, flags](Console& console) { return Run(options, *flags, console); };
          }};
}

}  // namespace ampc
