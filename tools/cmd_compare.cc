// ampc compare: two models, one input, layer by layer.
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/base/utf8.h"
#include "runtime/session.h"
#include "tools/cli/command.h"
#include "tools/cli/device_check.h"
#include "tools/cli/tensors.h"

namespace ampc {
namespace {

struct CompareFlags {
  std::string a, b;
  std::string params_a, params_b;
  std::vector<std::string> inputs;
  double tolerance = -1;
  std::string device = "cpu", device_b;
  int threads = 0;
  bool all = false;
  bool json = false;
};

struct Layer {
  std::string name;
  std::string op;
  DType dtype_a = DType::kInvalid;
  DType dtype_b = DType::kInvalid;
  bool same_dims = true;
  bool fetch = false;
  Difference difference;
};

struct Stored {
  DType dtype;
  Dims dims;
  std::vector<double> values;
};

std::vector<double> Doubles(const ObservedValue& value) {
  const int64_t n = value.desc.NumElements();
  std::vector<double> out(static_cast<size_t>(n));
  const auto copy = [&](const auto* data) { std::copy(data, data + n, out.begin()); };
  switch (StorageType(value.desc.dtype)) {
    case DType::kF32: copy(static_cast<const float*>(value.data)); break;
    case DType::kF64: copy(static_cast<const double*>(value.data)); break;
    case DType::kI64: copy(static_cast<const int64_t*>(value.data)); break;
    case DType::kI32: copy(static_cast<const int32_t*>(value.data)); break;
    case DType::kI16: copy(static_cast<const int16_t*>(value.data)); break;
    case DType::kI8: copy(static_cast<const int8_t*>(value.data)); break;
    default: copy(static_cast<const uint8_t*>(value.data)); break;
  }
  return out;
}

// Keeps every result of the first model by its exported name; a step of a loop has one per iteration.
class Recorder : public StepObserver {
 public:
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) values_[v.var->exported()].push_back({v.desc.dtype, v.desc.dims, Doubles(v)});
    return absl::OkStatus();
  }
  const Stored* Find(const std::string& name, size_t time) const {
    auto it = values_.find(name);
    return it == values_.end() || time >= it->second.size() ? nullptr : &it->second[time];
  }

 private:
  std::map<std::string, std::vector<Stored>> values_;
};

// The type whose units in the last place count.
DType Narrower(DType a, DType b) { return IsLowPrecision(b) || !IsLowPrecision(a) ? b : a; }

// Compares every result of the second model with the recorded one of the same name.
class Comparer : public StepObserver {
 public:
  explicit Comparer(const Recorder& recorder) : recorder_(recorder) {}
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) {
      const size_t time = times_[v.var->exported()]++;
      const Stored* stored = recorder_.Find(v.var->exported(), time);
      if (stored == nullptr || v.desc.NumElements() == 0) continue;
      const std::string name = time == 0 ? v.var->exported() : absl::StrCat(v.var->exported(), " #", time + 1);
      Layer layer{name, step.op->type(), stored->dtype, v.desc.dtype, stored->dims == v.desc.dims, false, {}};
      if (layer.same_dims) layer.difference = Compare(stored->values, Doubles(v), Narrower(stored->dtype, v.desc.dtype));
      layers.push_back(std::move(layer));
    }
    return absl::OkStatus();
  }
  std::vector<Layer> layers;

 private:
  const Recorder& recorder_;
  std::map<std::string, size_t> times_;  // how often a value was seen
};

bool Exceeds(const Layer& layer, double tolerance) {
  return !layer.same_dims || layer.difference.mismatched_non_finite > 0 || (tolerance >= 0 && !(layer.difference.max_rel <= tolerance));
}

std::vector<std::string> Row(const Layer& l) {
  const std::string types = l.dtype_a == l.dtype_b ? std::string(Name(l.dtype_a)) : absl::StrCat(Name(l.dtype_a), " / ", Name(l.dtype_b));
  if (!l.same_dims) return {l.name, l.op, types, "other dims"};
  const Difference& d = l.difference;
  return {l.name, l.op, types, absl::StrFormat("%.3g", d.max_abs), absl::StrFormat("%.3g", d.max_rel), absl::StrFormat("%.4g", d.max_ulp),
          absl::StrFormat("%.9f", d.cosine), d.mismatched_non_finite > 0 ? absl::StrCat(d.mismatched_non_finite, " not finite in one") : ""};
}

void PrintText(Console& console, const CompareFlags& flags, const std::vector<Layer>& layers, const Layer* first) {
  std::vector<std::vector<std::string>> rows = {{"value", "op", "type", "max abs", "max rel", "max ulp", "cosine", ""}};
  for (const Layer& l : layers) {
    if (flags.all || l.fetch || Exceeds(l, flags.tolerance)) rows.push_back(Row(l));
  }
  console.Out(FormatTable(rows));
  console.Out(absl::StrCat(layers.size(), " values compared; max rel is against the largest magnitude of the value in ", flags.a, "\n"));
  if (first != nullptr) console.Out(absl::StrCat("first divergence: '", Printable(first->name), "' (", first->op, ")\n"));
}

void PrintJson(Console& console, const CompareFlags& flags, const std::vector<Layer>& layers, const Layer* first) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("a", flags.a).Field("b", flags.b).Key("values").BeginArray();
  for (const Layer& l : layers) {
    json.BeginObject(JsonWriter::kInline).Field("name", l.name).Field("op", l.op).Field("dtype_a", Name(l.dtype_a)).Field("dtype_b", Name(l.dtype_b));
    json.Field("same_dims", l.same_dims).Field("fetch", l.fetch).Field("max_abs", l.difference.max_abs).Field("max_rel", l.difference.max_rel);
    json.Field("max_ulp", l.difference.max_ulp).Field("cosine", l.difference.cosine);
    json.Field("mismatched_non_finite", l.difference.mismatched_non_finite).EndObject();
  }
  json.EndArray().Key("first_divergence");
  if (first != nullptr) {
    json.String(first->name);
  } else {
    json.Null();
  }
  json.EndObject();
  console.Out(json.Take() + "\n");
}

Layer CompareFetch(const std::string& name, const HostTensor& a, const HostTensor& b) {
  Layer layer{name, "fetch", a.dtype(), b.dtype(), a.dims() == b.dims(), true, {}};
  if (layer.same_dims) layer.difference = Compare(ToDoubles(a), ToDoubles(b), Narrower(a.dtype(), b.dtype()));
  return layer;
}

absl::StatusOr<std::vector<Layer>> CompareModels(const CompareFlags& flags, Console& console) {
  Progress progress(console, "loading");
  SessionOptions options{.device = flags.device, .threads = flags.threads, .strict_rounding = true, .params = flags.params_a};
  AMPC_ASSIGN_OR_RETURN(const Session a, Session::Load(flags.a, options));
  options.params = flags.params_b;
  if (!flags.device_b.empty()) options.device = flags.device_b;
  AMPC_ASSIGN_OR_RETURN(const Session b, Session::Load(flags.b, options));
  progress.Stage(absl::StrCat("running ", flags.a));
  AMPC_ASSIGN_OR_RETURN(const TensorMap feeds_a, ReadFeeds(flags.inputs, a.inputs()));
  AMPC_ASSIGN_OR_RETURN(const TensorMap feeds_b, ReadFeeds(flags.inputs, b.inputs()));
  Recorder recorder;
  AMPC_ASSIGN_OR_RETURN(const TensorMap fetches_a, a.Run(feeds_a, recorder));
  progress.Stage(absl::StrCat("running ", flags.b));
  Comparer comparer(recorder);
  AMPC_ASSIGN_OR_RETURN(const TensorMap fetches_b, b.Run(feeds_b, comparer));
  std::vector<Layer> layers = std::move(comparer.layers);
  std::erase_if(layers, [&](const Layer& l) { return fetches_b.contains(l.name); });
  for (const auto& [name, value] : fetches_b) {
    const auto it = fetches_a.find(name);
    if (it == fetches_a.end()) return UsageError(absl::StrCat(flags.b, " fetches '", name, "', ", flags.a, " does not"));
    layers.push_back(CompareFetch(name, it->second, value));
  }
  return layers;
}

absl::Status Run(const CompareFlags& flags, Console& console) {
  for (const std::string& device : {flags.device, flags.device_b}) {
    if (!device.empty()) AMPC_RETURN_IF_ERROR(CheckDevice(device, console));
  }
  AMPC_ASSIGN_OR_RETURN(const std::vector<Layer> layers, CompareModels(flags, console));
  const Layer* first = nullptr;
  const Layer* failed_fetch = nullptr;
  for (const Layer& l : layers) {
    if (!Exceeds(l, flags.tolerance)) continue;
    if (first == nullptr) first = &l;
    if (l.fetch && failed_fetch == nullptr) failed_fetch = &l;
  }
  if (flags.json) {
    PrintJson(console, flags, layers, first);
  } else {
    PrintText(console, flags, layers, first);
  }
  if (failed_fetch == nullptr) return absl::OkStatus();
  return NoError(absl::StrCat("fetch '", failed_fetch->name, "' differs by ", absl::StrFormat("%.3g", failed_fetch->difference.max_rel),
                              " of its largest value, ", flags.tolerance < 0 ? "with other non-finite values or dims" : absl::StrCat("the tolerance is ", flags.tolerance)));
}

}  // namespace

Command CompareCommand() {
  return {"compare", "runs two models on the same inputs and compares them value by value",
          "  ampc compare model.pdmodel model_fp16.pdmodel --input in.npz\n"
          "  ampc compare model.pdmodel model_fp16.pdmodel --input in.npz --tolerance 0.02 --all   exit 1 when a fetch differs by more\n"
          "  ampc compare model.pdmodel model.pdmodel --input in.npz --device-b cuda:0     one model on two devices",
          [](Options options) -> Action {
            auto flags = std::make_shared<CompareFlags>();
            options.Add("a", flags->a, "the reference model").Required();
            options.Add("b", flags->b, "the model to judge").Required();
            options.Add("--input,-i", flags->inputs, "feeds: .npz, .safetensors, or NAME=file.npy; may be given again").Required();
            options.Add("--params-a", flags->params_a, "file with the weights of the first model");
            options.Add("--params-b", flags->params_b, "file with the weights of the second model");
            options.Add("--tolerance", flags->tolerance, "largest allowed max rel of a fetch; without it only non-finite values and dims count");
            options.Add("--device", flags->device, "cpu, or cuda:N in a build with CUDA").ShowDefault();
            options.Add("--device-b", flags->device_b, "where the second model runs; default: --device");
            options.Add("--threads", flags->threads, "threads of one run; 0: all processors").ShowDefault();
            options.Flag("--all", flags->all, "list every value, not only fetches and divergences");
            AddJsonFlag(options, &flags->json);
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
