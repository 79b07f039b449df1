// Real models, as tools/fetch_models.py puts them in place, and their conversions. Their names and answers: tools/quickstart/task.h.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"
#include "runtime/convert/convert.h"
#include "runtime/session.h"
#include "tools/quickstart/task.h"

namespace ampc::testing {

// The folder that $AMPC_MODELS names, else the quick start's; "" where neither can be told.
std::string ModelsFolder();

// The path of the model's file in it.
std::string OriginalPath(const std::string& name);

// A model of the folder and its conversion, made once per process; `dtype` kF32 is the original.
struct RealModel {
  std::string path;
  ConvertResult converted;  // empty for the original
};
absl::Status ConvertTo(DType dtype, const std::string& from, const std::string& to, ConvertResult* result, const std::string& level = "O2");
absl::StatusOr<RealModel> GetModel(const std::string& name, DType dtype);

// Set `k` (0 or 1) of the stored inputs, and what the model's own framework makes of them in fp32.
absl::StatusOr<TensorMap> StoredInputs(const std::string& name, int k);
absl::StatusOr<TensorMap> StoredOutputs(const std::string& name, int k);

// "name : type" of each value.
std::vector<std::string> SignatureText(const std::vector<ValueInfo>& values);

// A model in one precision; skipped where the model is absent.
struct RealCase {
  std::string name;
  DType dtype;
  friend std::ostream& operator<<(std::ostream& out, const RealCase& c) { return out << c.name << " " << Name(c.dtype); }
};
class RealModelTest : public ::testing::TestWithParam<RealCase> {
 protected:
  void SetUp() override;
  RealModel model_;
  Task task_;
};

}  // namespace ampc::testing
