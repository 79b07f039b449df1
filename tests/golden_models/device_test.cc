// The small models on a device: fp32 and converted, against the real Paddle as on the CPU, and free of the host where kernels allow it.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/convert/convert.h"
#include "runtime/exec/observer.h"
#include "runtime/session.h"
#include "tests/formats/test_files.h"
#include "tests/golden_models/device_name.h"
#include "tests/golden_models/model_data.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::IsEmpty;

// The steps that a device left to the host.
class HostSteps : public StepObserver {
 public:
  absl::Status AfterStep(const ObservedStep& step) override {
    if (step.device == "host") ops.push_back(step.op->type());
    return absl::OkStatus();
  }
  std::vector<std::string> ops;
};

class OnDevice : public ::testing::TestWithParam<std::tuple<const char*, DType>> {};
INSTANTIATE_TEST_SUITE_P(Models, OnDevice,
                         ::testing::Combine(::testing::Values("detector", "recogniser", "encoder", "speech", "decoder"),
                                            ::testing::Values(DType::kF32, DType::kF16, DType::kBF16)),
                         [](const auto& info) { return absl::StrCat(std::get<0>(info.param), "_", Name(std::get<1>(info.param))); });

TEST_P(OnDevice, GivesWhatPaddleGives) {
  const auto& [name, dtype] = GetParam();
  const std::string device = DeviceName();
  const TempFolder folder;
  std::string path = GoldenModel(name);
  if (dtype != DType::kF32) {
    ConvertOptions convert;
    convert.model = path;
    convert.output = path = folder / "low.pdmodel";
    convert.dtype = dtype;
    convert.no_sync = true;
    ASSERT_OK(Convert(convert));
  }
  const absl::StatusOr<Session> session = Session::Load(path, {.device = device, .threads = 2});
  if (ExitCodeOf(session.status()) == ExitCode::kUnsupported) GTEST_SKIP() << session.status().message();
  ASSERT_OK(session);
  ASSERT_OK_AND_ASSIGN(const std::vector<GoldenRun> runs, GoldenRuns(name));
  for (size_t k = 0; k < runs.size(); ++k) {
    for (int again = 0; again < 4; ++again) {  // from the third time on steps may be replayed
      ASSERT_OK_AND_ASSIGN(const TensorMap out, session->Run(runs[k].in));
      for (const auto& [fetch, needed] : runs[k].out) {
        ASSERT_TRUE(out.contains(fetch)) << fetch;
        EXPECT_EQ(DiffModelResult(name, dtype, out.at(fetch), needed), "") << "run " << k << ", time " << again << ", fetch " << fetch;
      }
    }
  }
  HostSteps host;
  ASSERT_OK(session->Run(runs[0].in, host));
  EXPECT_THAT(host.ops, IsEmpty());
}

}  // namespace
}  // namespace ampc::testing
