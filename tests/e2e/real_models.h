// PP-OCRv4 rec and ppocr_mobile_v2.0_cls, as tools/fetch_models.py puts them in place, and their conversions.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"
#include "runtime/session.h"
#include "tools/cli/convert_model.h"

namespace ampc::testing {

// The folder that $AMPC_MODELS names, else the quick start's; "" where neither can be told.
std::string ModelsFolder();

// A model of the folder and its conversion, made once per process; `dtype` kF32 is the original.
struct RealModel {
  std::string path;
  ConvertResult converted;  // empty for the original
};
absl::StatusOr<RealModel> GetModel(const std::string& name, DType dtype);

// Set `k` (0 or 1) of the stored inputs, and what the real Paddle makes of them in fp32.
absl::StatusOr<TensorMap> StoredInputs(const std::string& name, int k);
absl::StatusOr<TensorMap> StoredOutputs(const std::string& name, int k);

// What the model answers: the text of each line (rec), the class of each image (cls).
absl::StatusOr<std::vector<std::string>> Answers(const std::string& name, const TensorMap& outputs);

// One of the two models in one precision; skipped where the models are absent.
struct RealCase {
  std::string name;
  DType dtype;
  friend std::ostream& operator<<(std::ostream& out, const RealCase& c) { return out << c.name << " " << Name(c.dtype); }
};
class RealModelTest : public ::testing::TestWithParam<RealCase> {
 protected:
  void SetUp() override;
  RealModel model_;
};

}  // namespace ampc::testing
