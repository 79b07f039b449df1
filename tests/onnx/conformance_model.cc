#include "tests/onnx/conformance_model.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "runtime/session.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

double AsDouble(double value) { return value; }
double AsDouble(float value) { return value; }
double AsDouble(Half value) { return static_cast<float>(value); }
double AsDouble(BFloat16 value) { return static_cast<float>(value); }

template <typename T>
absl::Status CompareFloats(const HostTensor& found, const HostTensor& needed) {
  for (int64_t i = 0; i < needed.num_elements(); ++i) {
    const double f = AsDouble(found.values<T>()[i]), n = AsDouble(needed.values<T>()[i]);
    if (!Near(f, n, kConformanceTolerance)) return NoError(absl::StrCat("element ", i, " is ", f, ", needed ", n));
  }
  return absl::OkStatus();
}

absl::Status Compare(const HostTensor& found, const HostTensor& needed) {
  if (found.dtype() != needed.dtype() || found.dims() != needed.dims()) {
    return NoError(absl::StrCat("is ", Name(found.dtype()), " ", ShapeToString(found.dims()), ", needed ", Name(needed.dtype()), " ",
                                ShapeToString(needed.dims())));
  }
  switch (needed.dtype()) {
    case DType::kF16: return CompareFloats<Half>(found, needed);
    case DType::kBF16: return CompareFloats<BFloat16>(found, needed);
    case DType::kF32: return CompareFloats<float>(found, needed);
    case DType::kF64: return CompareFloats<double>(found, needed);
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

absl::Status RunDataSet(const Session& session, const std::string& folder) {
  const std::vector<ValueInfo> inputs = session.inputs(), outputs = session.outputs();
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> in, ReadTensors(folder, "input", inputs));
  AMPC_ASSIGN_OR_RETURN(const std::vector<HostTensor> needed, ReadTensors(folder, "output", outputs));
  if (in.size() != inputs.size() || needed.size() != outputs.size() || needed.empty()) {
    return NoError(absl::StrCat("the model has ", inputs.size(), " inputs and ", outputs.size(), " outputs, the data set ", in.size(), " and ",
                                needed.size()));
  }
  TensorMap feeds;
  for (size_t i = 0; i < in.size(); ++i) feeds[inputs[i].name] = std::move(in[i]);
  AMPC_ASSIGN_OR_RETURN(const TensorMap found, session.Run(feeds));
  for (size_t i = 0; i < needed.size(); ++i) {
    AMPC_RETURN_IF_ERROR(Annotate(Compare(found.at(outputs[i].name), needed[i]), absl::StrCat("output '", outputs[i].name, "'")));
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

absl::Status RunConformanceModel(const std::string& folder) {
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Load(folder + "/model.onnx", {.threads = 1}));
  int sets = 0;
  for (; std::filesystem::exists(absl::StrCat(folder, "/test_data_set_", sets)); ++sets) {
    AMPC_RETURN_IF_ERROR(RunDataSet(session, absl::StrCat(folder, "/test_data_set_", sets)));
  }
  return sets > 0 ? absl::OkStatus() : BadInputError(absl::StrCat(folder, " has no data set"));
}

}  // namespace ampc::testing
