#include "tests/onnx/conformance_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/mapped_file.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "passes/analysis/target_support.h"
#include "runtime/convert/options.h"
#include "runtime/session.h"
#include "tests/onnx/hidden.h"
#include "tests/onnx/unpacked.h"
#include "tests/testlib/model_tolerance.h"
#include "tests/testlib/read_only_feeds.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

double AsDouble(double value) { return value; }
double AsDouble(float value) { return value; }
double AsDouble(Half value) { return static_cast<float>(value); }
double AsDouble(BFloat16 value) { return static_cast<float>(value); }

// `low`: the type of the conversion, or kInvalid.
template <typename T>
absl::Status CompareFloats(const HostTensor& found, const HostTensor& needed, DType low) {
  Tolerance tolerance = kConformanceTolerance;
  if (low != DType::kInvalid) {
    double largest = 0;
    for (const T& value : needed.values<T>())
      largest = std::isfinite(AsDouble(value)) ? std::max(largest, std::abs(AsDouble(value))) : largest;
    tolerance = {0, ConvertedConformanceTolerance(low) * largest};
  }
  for (int64_t i = 0; i < needed.num_elements(); ++i) {
    const double f = AsDouble(found.values<T>()[i]), n = AsDouble(needed.values<T>()[i]);
    if (!Near(f, n, tolerance)) return NoError(absl::StrCat("element ", i, " is ", f, ", needed ", n));
  }
  return absl::OkStatus();
}

absl::Status CompareTensors(const HostTensor& found, const HostTensor& needed, DType low) {
  if (found.dtype() != needed.dtype() || found.dims() != needed.dims()) {
    return NoError(absl::StrCat("is ", Name(found.dtype()), " ", ShapeToString(found.dims()), ", needed ", Name(needed.dtype()), " ",
                                ShapeToString(needed.dims())));
  }
  switch (needed.dtype()) {
    case DType::kF16: return CompareFloats<Half>(found, needed, low);
    case DType::kBF16: return CompareFloats<BFloat16>(found, needed, low);
    case DType::kF32: return CompareFloats<float>(found, needed, low);
    case DType::kF64: return CompareFloats<double>(found, needed, low);
    default: return found == needed ? absl::OkStatus() : NoError("has other values than needed");
  }
}

// input_0.pb, input_1.pb, ... or output_0.pb, ...: what stands for each feed or fetch.
using Values = std::vector<std::vector<HostTensor>>;
absl::StatusOr<Values> ReadValues(const std::string& folder, absl::string_view kind, const std::vector<Var*>& declared) {
  Values out;
  for (size_t i = 0;; ++i) {
    const std::string path = absl::StrCat(folder, "/", kind, "_", i, ".pb");
    if (!std::filesystem::exists(path)) return out;
    AMPC_ASSIGN_OR_RETURN(out.emplace_back(), ReadValueProto(path, i < declared.size() ? declared[i]->type : TensorType()));
  }
}

struct DataSet {
  Values in, needed;
};

absl::StatusOr<DataSet> ReadDataSet(const Program& program, const std::string& folder) {
  DataSet set;
  AMPC_ASSIGN_OR_RETURN(set.in, ReadValues(folder, "input", program.feeds));
  AMPC_ASSIGN_OR_RETURN(set.needed, ReadValues(folder, "output", program.fetches));
  if (set.in.size() == program.feeds.size() && set.needed.size() == program.fetches.size() && !set.needed.empty()) return set;
  return NoError(absl::StrCat("the model has ", program.feeds.size(), " inputs and ", program.fetches.size(), " outputs, the data set ",
                              set.in.size(), " and ", set.needed.size()));
}

// One after the other, as UnpackSequences leaves the feeds or fetches: elements, which their count is in front of where `counted`.
std::vector<HostTensor> Flat(const std::vector<Var*>& vars, Values values, bool counted) {
  std::vector<HostTensor> out;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool sequence = vars[i]->type.kind == TypeKind::kTensorArray;
    if (sequence && counted) out.push_back(HostTensor::Of<int64_t>({1}, {static_cast<int64_t>(values[i].size())}));
    for (HostTensor& value : values[i]) out.push_back(std::move(value));
  }
  return out;
}

std::vector<int> Lengths(const Values& values) {
  std::vector<int> out;
  for (const std::vector<HostTensor>& value : values) out.push_back(static_cast<int>(value.size()));
  return out;
}

absl::Status RunSession(const Session& session, std::vector<HostTensor> in, const std::vector<HostTensor>& needed, DType low) {
  const std::vector<ValueInfo> inputs = session.inputs(), outputs = session.outputs();
  TensorMap feeds;
  if (inputs.size() > in.size()) feeds[kHidingFeed] = HostTensor::Of<bool>({1}, {true});
  for (size_t i = 0; i < in.size(); ++i) feeds[inputs[i].name] = std::move(in[i]);
  AMPC_ASSIGN_OR_RETURN(const ReadOnlyFeeds given, ReadOnlyFeeds::Of(feeds));
  AMPC_ASSIGN_OR_RETURN(const TensorMap found, session.Run(given.feeds()));
  for (size_t i = 0; i < needed.size(); ++i) {
    AMPC_RETURN_IF_ERROR(
        Annotate(CompareTensors(found.at(outputs[i].name), needed[i], low), absl::StrCat("output '", outputs[i].name, "'")));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> ConformanceModels(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

absl::Status RunDataSets(const Program& program, const std::string& folder, std::optional<Hide> hide, DType low) {
  int sets = 0;
  for (std::string set = folder + "/test_data_set_0"; std::filesystem::exists(set); set = absl::StrCat(folder, "/test_data_set_", ++sets)) {
    AMPC_ASSIGN_OR_RETURN(DataSet data, ReadDataSet(program, set));
    Program unpacked = program.Clone();
    UnpackSequences(Lengths(data.in), Lengths(data.needed), unpacked);
    if (hide.has_value()) HideFeeds(*hide, unpacked);
    AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(std::move(unpacked), {.threads = 1}));
    AMPC_RETURN_IF_ERROR(
        RunSession(session, Flat(program.feeds, std::move(data.in), false), Flat(program.fetches, std::move(data.needed), true), low));
  }
  return sets > 0 ? absl::OkStatus() : BadInputError(absl::StrCat(folder, " has no data set"));
}

}  // namespace

absl::Status RunConformanceModel(const std::string& folder) {
  AMPC_ASSIGN_OR_RETURN(const Program program, LoadModel(folder + "/model.onnx"));
  return RunDataSets(program, folder, std::nullopt, DType::kInvalid);
}

absl::Status RunHiddenModel(const std::string& folder, Hide what) {
  AMPC_ASSIGN_OR_RETURN(const Program program, LoadModel(folder + "/model.onnx"));
  return RunDataSets(program, folder, what, DType::kInvalid);
}

absl::Status RunConvertedModel(const std::string& folder, DType low, const std::string& scratch) {
  const std::string model = folder + "/model.onnx";
  AMPC_ASSIGN_OR_RETURN(Program program, LoadModel(model));
  PassContext ctx;
  AMPC_ASSIGN_OR_RETURN(ctx.support, TargetSupport("cuda"));
  ConvertOptions options;
  options.dtype = low;
  AMPC_RETURN_IF_ERROR(RunPipeline(ConvertPipeline(options), {}, ctx, program));
  AMPC_RETURN_IF_ERROR(SaveModel(program, scratch, {.no_sync = true}));
  const absl::StatusOr<MappedFile> before = MappedFile::Open(model), after = MappedFile::Open(scratch);
  if (before.ok() && after.ok() && before->text() == after->text()) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(const Program converted, LoadModel(scratch));
  return RunDataSets(converted, folder, std::nullopt, low);
}

}  // namespace ampc::testing
