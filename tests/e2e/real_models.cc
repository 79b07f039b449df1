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

std::string Original(const std::string& name) { return absl::StrCat(ModelsFolder(), "/", name, "/inference.pdmodel"); }

absl::StatusOr<RealModel> Convert(const std::string& name, DType dtype) {
  RealModel model;
  model.path = Original(name);
  if (dtype == DType::kF32) return model;
  ConvertRequest request;
  request.input = model.path;
  request.output = absl::StrCat(::testing::TempDir(), "/", name, "_", Name(dtype), ".pdmodel");
  request.options.dtype = dtype;
  request.no_sync = true;
  AMPC_ASSIGN_OR_RETURN(model.converted, ConvertModel(request));
  model.path = request.output;
  return model;
}

absl::StatusOr<TensorMap> Stored(const std::string& name, const char* what, int k) {
  return ReadNpz(absl::StrCat("tools/quickstart/data/", name, "_", what, "_", k, ".npz"));
}

}  // namespace

std::string ModelsFolder() {
  const std::string given = Variable("AMPC_MODELS"), cache = Variable("XDG_CACHE_HOME"), home = Variable("HOME");
  if (!given.empty()) return given;
  if (cache.empty() && home.empty()) return "";
  return absl::StrCat(cache.empty() ? home + "/.cache" : cache, "/ampc/quickstart/models");
}

absl::StatusOr<RealModel> GetModel(const std::string& name, DType dtype) {
  static auto* const kModels = new std::map<std::pair<std::string, DType>, absl::StatusOr<RealModel>>;
  auto it = kModels->find({name, dtype});
  if (it == kModels->end()) it = kModels->emplace(std::pair(name, dtype), Convert(name, dtype)).first;
  return it->second;
}

absl::StatusOr<TensorMap> StoredInputs(const std::string& name, int k) { return Stored(name, "inputs", k); }
absl::StatusOr<TensorMap> StoredOutputs(const std::string& name, int k) { return Stored(name, "outputs", k); }

absl::StatusOr<std::vector<std::string>> Answers(const std::string& name, const TensorMap& outputs) {
  if (name == "cls") return DecodeClass(outputs.begin()->second, {"0", "180"});
  AMPC_ASSIGN_OR_RETURN(const std::vector<std::string> charset, ReadCharset(ModelsFolder() + "/rec/charset.txt"));
  return DecodeText(outputs.begin()->second, charset);
}

void RealModelTest::SetUp() {
  if (ModelsFolder().empty()) GTEST_SKIP() << "nothing names the folder of the models; tools/test.sh gets them and passes --test_env=AMPC_MODELS";
  if (!fs::exists(Original(GetParam().name))) {
    GTEST_SKIP() << "no model at '" << Original(GetParam().name) << "'; tools/fetch_models.py FOLDER gets it, --test_env=AMPC_MODELS=FOLDER names the folder";
  }
  ASSERT_OK_AND_ASSIGN(model_, GetModel(GetParam().name, GetParam().dtype));
}

}  // namespace ampc::testing
