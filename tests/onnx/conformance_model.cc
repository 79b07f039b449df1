#include "tests/onnx/conformance_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/mapped_file.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"
#include "runtime/session.h"
#include "tests/onnx/hidden.h"
#include "tests/testlib/onnx_tolerance.h"
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
    for (const T& value : needed.values<T>()) largest = std::isfinite(AsDouble(value)) ? std::max(largest, std::abs(AsDouble(value))) : largest;
    tolerance = {0, ConvertedConformanceTolerance(low) * largest};
  }
  for (int64_t i = 0; i < needed.num_elements(); ++i) {
    const double f = AsDouble(found.values<T>()[i]), n = AsDouble(needed.values<T>()[i]);
    if (!Near(f, n, tolerance)) return NoError(absl::StrCat("element ", i, " is ", f, ", needed ", n));
  }
  return absl::OkStatus();
}

absl::Status Compare(const HostTensor& found, const HostTensor& needed, DType low) {
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

// input_0.pb, input_1.pb, ... or output_0.pb, ...
absl::StatusOr<std::vector<HostTensor>> ReadTensors(const std::string& folder, absl::string_view kind, const std::vector<ValueInfo>& declared) {
  std::vector<HostTensor> out;
  for (size_t i = 0;; ++i) {
    const std::string path = absl::StrCat(folder, "/", kind, "_", i, ".pb");
    if (!std::filesystem::exists(path)) return out;
    AMPC_ASSIGN_OR_RETURN(HostTensor tensor, ReadTensorProto(path, i < declared.size() ? declared[i].type.dtype : DType::kInvalid));
    out.push_back(std::move(tensor));
  }
}

absl::Status RunDataSet(const Session& session, const std::string& folder, DType low) {
  std::vector<ValueInfo> inputs = session.inputs();
  const std::vector<ValueInfo> outputs = session.outputs();
  TensorMap feeds;
  if (!inputs.empty() && inputs.back().name == kHidingFeed) {
    feeds[kHidingFeed] = HostTensor::Of<bool>({1}, {true});
    inputs.pop_back();
  }
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> in, ReadTensors(folder, "input", inputs));
  AMPC_ASSIGN_OR_RETURN(const std::vector<HostTensor> needed, ReadTensors(folder, "output", outputs));
  if (in.size() != inputs.size() || needed.size() != outputs.size() || needed.empty()) {
    return NoError(absl::StrCat("the model has ", inputs.size(), " inputs and ", outputs.size(), " outputs, the data set ", in.size(), " and ",
                                needed.size()));
  }
  for (size_t i = 0; i < in.size(); ++i) feeds[inputs[i].name] = std::move(in[i]);
  AMPC_ASSIGN_OR_RETURN(const TensorMap found, session.Run(feeds));
  for (size_t i = 0; i < needed.size(); ++i) {
    AMPC_RETURN_IF_ERROR(Annotate(Compare(found.at(outputs[i].name), needed[i], low), absl::StrCat("output '", outputs[i].name, "'")));
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

absl::Status RunDataSets(const Session& session, const std::string& folder, DType low) {
  int sets = 0;
  for (; std::filesystem::exists(absl::StrCat(folder, "/test_data_set_", sets)); ++sets) {
    AMPC_RETURN_IF_ERROR(RunDataSet(session, absl::StrCat(folder, "/test_data_set_", sets), low));
  }
  return sets > 0 ? absl::OkStatus() : BadInputError(absl::StrCat(folder, " has no data set"));
}

}  // namespace

absl::Status RunConformanceModel(const std::string& folder) {
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Load(folder + "/model.onnx", {.threads = 1}));
  return RunDataSets(session, folder, DType::kInvalid);
}

absl::Status RunHiddenModel(const std::string& folder, Hide what) {
  AMPC_ASSIGN_OR_RETURN(Program program, LoadModel(folder + "/model.onnx"));
  HideFeeds(what, program);
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(std::move(program), {.threads = 1}));
  return RunDataSets(session, folder, DType::kInvalid);
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
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Load(scratch, {.threads = 1}));
  return RunDataSets(session, folder, low);
}

}  // namespace ampc::testing
