// The model that the tests of ampc.h run: kMlp in a file, one input, and the results of Session.
#pragma once

#include <ampc.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/formats/format.h"
#include "graph/text/parser.h"
#include "runtime/session.h"
#include "tests/e2e/models.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc::testing {

class MlpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(kMlp));
    ASSERT_OK(SaveModel(program, model_));
  }

  // The input of kMlp, on x_.
  ampc_tensor Input() const { return {"x", AMPC_F32, 2, dims_.data(), x_.data(), x_.size() * sizeof(float)}; }

  TempFolder folder_;
  const std::string model_ = folder_ / "m.pdmodel";
  const std::vector<float> x_ = {1, 2, 3, 4, -1, 0.5, 0, 2};
  const std::vector<int64_t> dims_ = {2, 4};
};

// The results of Session for the model at `path` and the values of Input().
inline std::vector<float> Expected(const std::string& path, const std::vector<float>& x) {
  absl::StatusOr<Session> session = Session::Load(path);
  EXPECT_OK(session);
  absl::StatusOr<TensorMap> out = session->Run({{"x", HostTensor::FromValues<float>({2, 4}, x)}});
  EXPECT_OK(out);
  const absl::Span<const float> p = out->at("p").values<float>();
  return {p.begin(), p.end()};
}

inline std::vector<float> Values(const ampc_tensor& tensor) {
  const float* data = static_cast<const float*>(tensor.data);
  return {data, data + tensor.bytes / sizeof(float)};
}

}  // namespace ampc::testing
