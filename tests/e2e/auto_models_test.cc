// Level auto of every model of the tests: never more predicted time than O2, and the table of both.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "passes/amp/decide/predicted_run.h"
#include "runtime/convert/convert.h"
#include "runtime/convert/sizes.h"
#include "runtime/convert/target_numbers.h"
#include "tests/e2e/real_models.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Models() {
  std::vector<std::string> models;
  for (const char* folder : {"tests/golden/models", "tests/golden/onnx"}) {
    for (const auto& file : fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink)) {
      const std::string path = file.path().string();
      if (absl::EndsWith(path, ".pdmodel") || absl::EndsWith(path, ".onnx")) models.push_back(path);
    }
  }
  std::sort(models.begin(), models.end());
  for (const char* name : {"rec", "cls", "ppocrv5_rec", "ppocrv4_rec_onnx", "ppocr_cls_onnx", "magika", "silero_vad", "silero_vad_ifless",
                           "basic_pitch", "minilm"}) {
    if (fs::exists(OriginalPath(name))) models.push_back(OriginalPath(name));
  }
  return models;
}

struct Decided {
  PredictedRun time;
  int low_ops = 0;
};

absl::StatusOr<Decided> Decide(const std::string& model, const std::string& level, const std::string& target, DType dtype) {
  Decided out;
  ConvertOptions options;
  options.model = model;
  options.level = level;
  options.target = target;
  options.dtype = dtype;
  options.decide_only = true;
  options.decided = [&](const Program& program, const AmpDecision& decision) {
    const ProgramSizes sizes = MadeSizes(program);
    out.time = Predict(program, decision, TimeModel(program, &sizes, NumbersOfTarget(target), dtype));
    for (const OpDecision& op : decision.ops) out.low_ops += op.low ? 1 : 0;
  };
  const absl::StatusOr<ConvertResult> result = ampc::Convert(options);
  if (!result.ok()) return result.status();
  return out;
}

std::string NameOf(const std::string& model) {
  const fs::path path(model);
  const std::string stem = path.stem().string();
  return stem == "model" || stem == "inference" ? path.parent_path().filename().string() : stem;
}

TEST(AutoModels, AreNeverSlowerThanO2ByPrediction) {
  const std::vector<std::string> models = Models();
  ASSERT_GT(models.size(), 50u);
  int faster = 0;
  std::printf("%-40s %-9s %-5s %11s %11s %11s %9s %9s\n", "model", "target", "type", "fp32 ms", "O2 ms", "auto ms", "O2 casts", "auto");
  for (const std::string& model : models) {
    for (const char* target : {"cuda:7.5", "cuda:8.0", "cpu"}) {
      for (const DType dtype : {DType::kF16, DType::kBF16}) {
        const absl::StatusOr<Decided> o2 = Decide(model, "O2", target, dtype);
        if (!o2.ok()) continue;  // bf16 and an operator set that has none
        const absl::StatusOr<Decided> fastest = Decide(model, "auto", target, dtype);
        ASSERT_TRUE(fastest.ok()) << model << ": " << fastest.status().message();
        const PredictedRun &a = fastest->time, &b = o2->time;
        EXPECT_LE(a.mixed, b.mixed * (1 + 1e-9)) << model << " " << target;
        EXPECT_LE(a.mixed, a.fp32 * (1 + 1e-9)) << model << " " << target;
        EXPECT_LE(fastest->low_ops, o2->low_ops) << model << " " << target;
        faster += a.mixed < b.mixed * 0.99 ? 1 : 0;
        std::printf("%-40s %-9s %-5s %11.4f %11.4f %11.4f %9d %9d\n", NameOf(model).c_str(), target, dtype == DType::kF16 ? "fp16" : "bf16",
                    b.fp32 * 1e3, b.mixed * 1e3, a.mixed * 1e3, b.casts, a.casts);
      }
    }
  }
  EXPECT_GT(faster, 0);
}

}  // namespace
}  // namespace ampc::testing
