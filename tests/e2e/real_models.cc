#include "tests/e2e/real_models.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/npz.h"
#include "tests/testlib/status.h"
#include "tools/quickstart/task.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<RealModel> Convert(const std::string& name, DType dtype) {
  RealModel model;
  model.path = OriginalPath(name);
  if (dtype == DType::kF32) return model;
  const std::string to = absl::StrCat(::testing::TempDir(), "/", name, "_", Name(dtype), fs::path(model.path).extension().string());
  AMPC_RETURN_IF_ERROR(ConvertTo(dtype, model.path, to, &model.converted));
  model.path = to;
  return model;
}

// The quick start's data are its own, those of the other models lie beside the tests.
absl::StatusOr<TensorMap> Stored(const std::string& prefix, const char* what, int k) {
  const std::string file = absl::StrCat(prefix, "_", what, "_", k, ".npz");
  const std::string quickstart = "tools/quickstart/data/" + file;
  return ReadNpz(fs::exists(quickstart) ? quickstart : "tests/golden/onnx/" + file);
}

}  // namespace

std::string ModelsFolder() {
  const std::string given = Variable("AMPC_MODELS"), cache = Variable("XDG_CACHE_HOME"), home = Variable("HOME");
  if (!given.empty()) return given;
  if (cache.empty() && home.empty()) return "";
  return absl::StrCat(cache.empty() ? home + "/.cache" : cache, "/ampc/quickstart/models");
}

std::string OriginalPath(const std::string& name) {
  const absl::StatusOr<Task> task = FindTask(name);
  return task.ok() ? absl::StrCat(ModelsFolder(), "/", name, "/", task->file) : "";
}

absl::Status ConvertTo(DType dtype, const std::string& from, const std::string& to, ConvertResult* result, const std::string& level) {
  ConvertOptions convert;
  convert.model = from;
  convert.output = to;
  convert.dtype = dtype;
  convert.level = level;
  convert.no_sync = true;
  AMPC_ASSIGN_OR_RETURN(ConvertResult converted, Convert(convert));
  if (result != nullptr) *result = std::move(converted);
  return absl::OkStatus();
}

absl::StatusOr<RealModel> GetModel(const std::string& name, DType dtype) {
  static auto* const kModels = new std::map<std::pair<std::string, DType>, absl::StatusOr<RealModel>>;
  auto it = kModels->find({name, dtype});
  if (it == kModels->end()) it = kModels->emplace(std::pair(name, dtype), Convert(name, dtype)).first;
  return it->second;
}

std::vector<std::string> SignatureText(const std::vector<ValueInfo>& values) {
  std::vector<std::string> out;
  for (const ValueInfo& v : values) out.push_back(absl::StrCat(v.name, " : ", ToString(v.type)));
  return out;
}

absl::StatusOr<TensorMap> StoredInputs(const std::string& name, int k) {
  AMPC_ASSIGN_OR_RETURN(const Task task, FindTask(name));
  return Stored(task.inputs, "inputs", k);
}

absl::StatusOr<TensorMap> StoredOutputs(const std::string& name, int k) {
  AMPC_ASSIGN_OR_RETURN(const Task task, FindTask(name));
  return Stored(task.outputs, "outputs", k);
}

void RealModelTest::SetUp() {
  if (ModelsFolder().empty())
    GTEST_SKIP() << "nothing names the folder of the models; tools/test.sh gets them and passes --test_env=AMPC_MODELS";
  const std::string original = OriginalPath(GetParam().name);
  if (!fs::exists(original)) {
    GTEST_SKIP() << "no model at '" << original << "'; tools/fetch_models.py FOLDER " << (original.ends_with(".onnx") ? "--onnx " : "")
                 << "gets it, --test_env=AMPC_MODELS=FOLDER names the folder";
  }
  ASSERT_OK_AND_ASSIGN(task_, FindTask(GetParam().name));
  ASSERT_OK(ReadLabels(ModelsFolder(), task_));
  ASSERT_OK_AND_ASSIGN(model_, GetModel(GetParam().name, GetParam().dtype));
}

}  // namespace ampc::testing
