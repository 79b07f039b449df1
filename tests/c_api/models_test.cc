// ampc.h: models in memory, what becomes of models besides running them, and callbacks.
#include <ampc.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/c_api/mlp.h"
#include "tests/e2e/models.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

class ModelsTest : public MlpTest {};

// The files of an outcome, whose strings live as long as it does.
std::vector<ampc_file> Files(const ampc_outcome* outcome) {
  std::vector<ampc_file> files(ampc_num_files(outcome));
  for (size_t i = 0; i < files.size(); ++i) EXPECT_EQ(ampc_outcome_file(outcome, i, &files[i]), AMPC_OK);
  return files;
}

std::string Content(const ampc_file& file) { return std::string(static_cast<const char*>(file.data), file.bytes); }

// From memory into memory: the files of the command line, which load, run, and are stripped to the original's again.
TEST_F(ModelsTest, ModelsLieInMemory) {
  const std::string program = ReadFile(model_), weights = ReadFile(folder_ / "m.pdiparams");
  const std::vector<ampc_file> given = {{"m.pdmodel", program.data(), program.size()}, {"m.pdiparams", weights.data(), weights.size()}};
  const ampc_model model = {"m.pdmodel", given.data(), given.size()};
  const std::string path = folder_ / "low.pdmodel";
  ASSERT_EQ(ampc_convert(model_.c_str(), path.c_str(), nullptr, 0), AMPC_OK) << ampc_error_text();
  ampc_outcome* converted = nullptr;
  ASSERT_EQ(ampc_convert_model(&model, "low.pdmodel", 1, nullptr, 0, nullptr, &converted), AMPC_OK) << ampc_error_text();
  const std::vector<ampc_file> low = Files(converted);
  ASSERT_EQ(low.size(), 2u);
  EXPECT_EQ(low[0].name, std::string("low.pdmodel"));
  EXPECT_EQ(Content(low[0]), ReadFile(path));
  EXPECT_EQ(Content(low[1]), ReadFile(folder_ / "low.pdiparams"));
  const char* text = nullptr;
  ASSERT_EQ(ampc_outcome_page(converted, &text), AMPC_OK);
  EXPECT_THAT(text, ::testing::StartsWith("<!doctype html>"));

  const ampc_model low_model = {"low.pdmodel", low.data(), low.size()};
  ampc_session* session = nullptr;
  ASSERT_EQ(ampc_load_model(&low_model, nullptr, 0, &session), AMPC_OK) << ampc_error_text();
  const ampc_tensor input = Input();
  ampc_results* results = nullptr;
  ASSERT_EQ(ampc_run_ordered(session, &input, 1, &results), AMPC_OK) << ampc_error_text();
  ampc_tensor result;
  ASSERT_EQ(ampc_result(results, 0, &result), AMPC_OK);
  EXPECT_EQ(Values(result), Expected(path, x_));
  std::vector<float> mine(result.bytes / sizeof(float));
  ampc_tensor output = result;
  output.data = mine.data();
  ASSERT_EQ(ampc_run_into(session, &input, 1, &output, 1), AMPC_OK) << ampc_error_text();
  EXPECT_EQ(mine, Values(result));
  output.bytes -= 4;
  EXPECT_EQ(ampc_run_into(session, &input, 1, &output, 1), AMPC_USAGE);
  EXPECT_THAT(ampc_error_text(), HasSubstr("output 0: it has"));
  EXPECT_EQ(ampc_run_ordered(session, &input, 0, &results), AMPC_USAGE);
  ampc_free_results(results);
  ampc_free_session(session);

  ampc_outcome* stripped = nullptr;
  ASSERT_EQ(ampc_strip_model(&low_model, &model, "back.pdmodel", 1, nullptr, &stripped), AMPC_OK) << ampc_error_text();
  EXPECT_EQ(Content(Files(stripped)[0]), program);
  EXPECT_EQ(Content(Files(stripped)[1]), weights);
  ampc_free_outcome(stripped);
  ampc_free_outcome(converted);
}

// All files get the name, and nothing is written over what was read.
TEST_F(ModelsTest, AModelInMemoryIsSaved) {
  const ampc_model model = {model_.c_str(), nullptr, 0};
  ampc_outcome* outcome = nullptr;
  ASSERT_EQ(ampc_convert_model(&model, "any.pdmodel", 1, nullptr, 0, nullptr, &outcome), AMPC_OK) << ampc_error_text();
  ASSERT_EQ(ampc_outcome_save(outcome, (folder_ / "low.pdmodel").c_str()), AMPC_OK) << ampc_error_text();
  EXPECT_EQ(Content(Files(outcome)[0]), ReadFile(folder_ / "low.pdmodel"));
  EXPECT_EQ(Content(Files(outcome)[1]), ReadFile(folder_ / "low.pdiparams"));
  const std::string weights = ReadFile(folder_ / "m.pdiparams");
  EXPECT_EQ(ampc_outcome_save(outcome, model_.c_str()), AMPC_USAGE);
  EXPECT_THAT(ampc_error_text(), HasSubstr("is the input; another name is needed"));
  EXPECT_EQ(ReadFile(folder_ / "m.pdiparams"), weights);
  ampc_free_outcome(outcome);
  ASSERT_EQ(ampc_verify_model(&model, &outcome), AMPC_OK);
  EXPECT_EQ(ampc_outcome_save(outcome, (folder_ / "low.pdmodel").c_str()), AMPC_USAGE);
  ampc_free_outcome(outcome);
}

TEST_F(ModelsTest, SaysWhatIsInAModelAndWhetherItIsWhole) {
  const ampc_model model = {model_.c_str(), nullptr, 0};
  ampc_outcome* outcome = nullptr;
  const char* text = nullptr;
  ASSERT_EQ(ampc_inspect_model(&model, &outcome), AMPC_OK) << ampc_error_text();
  ASSERT_EQ(ampc_outcome_json(outcome, &text), AMPC_OK);
  EXPECT_THAT(text, HasSubstr("\"feeds\": ["));
  EXPECT_EQ(ampc_outcome_report(outcome, &text), AMPC_USAGE);
  ampc_free_outcome(outcome);
  const std::string bad = "program p version=1\n\nblock main {\n  feed x : f32 [2]\n  y = relu(x) : f32 [3]\n  fetch y\n}\n";
  const ampc_file file = {"bad.prog", bad.data(), bad.size()};
  const ampc_model wrong = {"bad.prog", &file, 1};
  ASSERT_EQ(ampc_verify_model(&wrong, &outcome), AMPC_NO);
  EXPECT_THAT(ampc_error_text(), HasSubstr("relu"));
  ASSERT_EQ(ampc_outcome_json(outcome, &text), AMPC_OK);
  EXPECT_THAT(text, HasSubstr("\"ok\":false"));
  ampc_free_outcome(outcome);
  const ampc_model absent = {"other.prog", &file, 1};
  EXPECT_EQ(ampc_verify_model(&absent, &outcome), AMPC_USAGE);
  EXPECT_THAT(ampc_error_text(), HasSubstr("none of the files is named 'other.prog'"));
}

TEST_F(ModelsTest, ComparesAndExplains) {
  const std::string low = folder_ / "low.pdmodel";
  ASSERT_EQ(ampc_convert(model_.c_str(), low.c_str(), nullptr, 0), AMPC_OK) << ampc_error_text();
  const ampc_model a = {model_.c_str(), nullptr, 0}, b = {low.c_str(), nullptr, 0};
  const ampc_tensor input = Input();
  const ampc_option exact = {"rtol", "0"}, random = {"random", "true"}, unknown = {"rtoll", "0"};
  ampc_outcome* outcome = nullptr;
  const char* text = nullptr;
  ASSERT_EQ(ampc_compare_models(&a, &b, &input, 1, nullptr, 0, nullptr, &outcome), AMPC_OK) << ampc_error_text();
  ASSERT_EQ(ampc_outcome_json(outcome, &text), AMPC_OK);
  EXPECT_THAT(text, HasSubstr("\"passed\": true"));
  ampc_free_outcome(outcome);
  ASSERT_EQ(ampc_compare_models(&a, &b, &input, 1, &exact, 1, nullptr, &outcome), AMPC_NO);
  EXPECT_THAT(ampc_error_text(), HasSubstr("output 'p'"));
  ASSERT_EQ(ampc_outcome_json(outcome, &text), AMPC_OK);
  EXPECT_THAT(text, HasSubstr("\"passed\": false"));
  ampc_free_outcome(outcome);
  ASSERT_EQ(ampc_compare_models(&a, &b, nullptr, 0, &random, 1, nullptr, &outcome), AMPC_OK) << ampc_error_text();
  ampc_free_outcome(outcome);
  EXPECT_EQ(ampc_compare_models(&a, &b, &input, 1, &random, 1, nullptr, &outcome), AMPC_USAGE);
  EXPECT_EQ(ampc_compare_models(&a, &b, nullptr, 0, nullptr, 0, nullptr, &outcome), AMPC_USAGE);
  EXPECT_THAT(ampc_error_text(), HasSubstr("feed 'x' is missing"));
  EXPECT_EQ(ampc_compare_models(&a, &b, &input, 1, &unknown, 1, nullptr, &outcome), AMPC_USAGE);
  EXPECT_THAT(ampc_error_text(), HasSubstr("did you mean 'rtol'?"));

  const ampc_option of_softmax = {"op", "type:softmax"};
  ASSERT_EQ(ampc_explain_model(&a, &of_softmax, 1, nullptr, &outcome), AMPC_OK) << ampc_error_text();
  ASSERT_EQ(ampc_outcome_json(outcome, &text), AMPC_OK);
  EXPECT_THAT(text, ::testing::AllOf(HasSubstr("\"op\": \"softmax\""), ::testing::Not(HasSubstr("\"op\": \"matmul_v2\""))));
  ampc_free_outcome(outcome);
}

// A stage at which the callback stops.
TEST_F(ModelsTest, ACallbackStopsAConversion) {
  const ampc_model model = {model_.c_str(), nullptr, 0};
  std::vector<std::string> stages;
  struct Told {
    std::vector<std::string>* stages;
    std::string stop;
  } told{&stages, ""};
  ampc_callbacks callbacks{&told,
                           [](void* user, const char* stage, double, double) {
                             auto* t = static_cast<Told*>(user);
                             t->stages->push_back(stage);
                             return t->stop == stage ? 0 : 1;
                           },
                           nullptr};
  const std::string path = folder_ / "low.pdmodel";
  ampc_outcome* outcome = nullptr;
  ASSERT_EQ(ampc_convert_model(&model, path.c_str(), 0, nullptr, 0, &callbacks, &outcome), AMPC_OK) << ampc_error_text();
  EXPECT_EQ(ampc_num_files(outcome), 0u);
  ampc_free_outcome(outcome);
  std::filesystem::remove(path);
  EXPECT_THAT(stages, ::testing::IsSupersetOf({"loading", "verifying", "protect", "amp-decide", "saving"}));
  for (const std::string& stage : std::vector<std::string>(stages)) {
    told.stop = stage;
    EXPECT_EQ(ampc_convert_model(&model, path.c_str(), 0, nullptr, 0, &callbacks, &outcome), AMPC_CANCELLED) << stage;
    EXPECT_FALSE(std::filesystem::exists(path)) << stage;
  }
}

}  // namespace
}  // namespace ampc::testing
