// PP-OCRv5 mobile, which Paddle 3 wrote: its numbers, and back from a conversion. Skipped where the models are not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/formats/format.h"
#include "graph/formats/tensor_io/npz.h"
#include "runtime/convert/convert.h"
#include "runtime/session.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"
#include "tools/quickstart/task.h"

namespace ampc::testing {
namespace {

std::string Folder(const std::string& model) {
  const char* models = std::getenv("AMPC_MODELS");
  return models == nullptr ? "" : absl::StrCat(models, "/", model);
}

double Difference(const HostTensor& found, const HostTensor& needed) {
  if (found.dims() != needed.dims()) return INFINITY;
  const auto a = found.values<float>(), b = needed.values<float>();
  double worst = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    worst = std::fmax(worst, std::abs(static_cast<double>(a[i]) - b[i]));
    largest = std::fmax(largest, std::abs(b[i]));
  }
  return worst / largest;
}

class PaddleThree : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, PaddleThree, ::testing::Values(DType::kF32, DType::kF16, DType::kBF16),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST_P(PaddleThree, ReadsTheSameText) {
  const std::string original = Folder("ppocrv5_rec") + "/inference.json";
  if (!std::filesystem::exists(original)) GTEST_SKIP() << "AMPC_MODELS names no folder with ppocrv5_rec";
  const TempFolder folder;
  std::string model = original;
  if (GetParam() != DType::kF32) {
    ConvertOptions convert;
    convert.model = original;
    convert.output = model = folder / "low.json";
    convert.dtype = GetParam();
    ASSERT_OK(Convert(convert).status());
  }
  ASSERT_OK_AND_ASSIGN(Task task, FindTask("ppocrv5_rec"));
  ASSERT_OK(ReadLabels(Folder(""), task));
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(model, {.threads = 1}));
  for (int k : {0, 1}) {
    ASSERT_OK_AND_ASSIGN(const TensorMap feeds, ReadNpz(absl::StrCat("tools/quickstart/data/rec_inputs_", k, ".npz")));
    ASSERT_OK_AND_ASSIGN(const TensorMap want, ReadNpz(absl::StrCat("tools/quickstart/data/ppocrv5_rec_outputs_", k, ".npz")));
    ASSERT_OK_AND_ASSIGN(const TensorMap got, session.Run(feeds));
    if (GetParam() == DType::kF32) {
      EXPECT_LE(Difference(got.at("fetch_name_0"), want.at("fetch_name_0")), 1e-4);
    }
    ASSERT_OK_AND_ASSIGN(const Answer answer, Decode(task, feeds, got));
    ASSERT_OK_AND_ASSIGN(const Answer needed, Decode(task, feeds, want));
    EXPECT_EQ(answer.texts, needed.texts);
  }
}

}  // namespace
}  // namespace ampc::testing
