// ampc.h: the numbers of Session and of `ampc convert`, and every way to call it wrongly.
#include <ampc.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "graph/formats/format.h"
#include "graph/text/parser.h"
#include "tests/c_api/mlp.h"
#include "tests/c_api/readme.h"
#include "tests/e2e/models.h"
#include "tests/e2e/process.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class CApiTest : public MlpTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(MlpTest::SetUp());
    ASSERT_EQ(ampc_load(model_.c_str(), nullptr, 0, &session_), AMPC_OK) << ampc_error_text();
  }
  void TearDown() override { ampc_free_session(session_); }

  // Expects that a run of `inputs` fails with that code and words.
  void ExpectBadRun(const std::vector<ampc_tensor>& inputs, const std::string& part) const {
    ampc_results* results = nullptr;
    EXPECT_EQ(ampc_run(session_, inputs.data(), inputs.size(), &results), AMPC_USAGE);
    EXPECT_THAT(ampc_error_text(), HasSubstr(part));
    EXPECT_EQ(results, nullptr);
  }

  ampc_session* session_ = nullptr;
};

TEST_F(CApiTest, TellsWhatTheModelTakesAndGives) {
  ASSERT_EQ(ampc_num_inputs(session_), 1u);
  ASSERT_EQ(ampc_num_outputs(session_), 1u);
  ampc_value value{};
  ASSERT_EQ(ampc_input(session_, 0, &value), AMPC_OK);
  EXPECT_STREQ(value.name, "x");
  EXPECT_EQ(value.dtype, AMPC_F32);
  EXPECT_THAT(std::vector<int64_t>(value.dims, value.dims + value.rank), ElementsAre(-1, 4));
  ASSERT_EQ(ampc_output(session_, 0, &value), AMPC_OK);
  EXPECT_STREQ(value.name, "p");
  EXPECT_EQ(ampc_input(session_, 1, &value), AMPC_USAGE);
  EXPECT_THAT(ampc_error_text(), HasSubstr("ampc_input: the index is 1, the model has 1"));
  EXPECT_EQ(ampc_output(session_, 7, &value), AMPC_USAGE);
}

TEST_F(CApiTest, RunsWithTheNumbersOfSession) {
  const ampc_tensor input = Input();
  ampc_results* results = nullptr;
  ASSERT_EQ(ampc_run(session_, &input, 1, &results), AMPC_OK) << ampc_error_text();
  ASSERT_EQ(ampc_num_results(results), 1u);
  ampc_tensor by_index{}, by_name{};
  ASSERT_EQ(ampc_result(results, 0, &by_index), AMPC_OK);
  ASSERT_EQ(ampc_result_named(results, "p", &by_name), AMPC_OK);
  EXPECT_EQ(by_index.data, by_name.data);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(by_index.data) % 64, 0u);
  EXPECT_STREQ(by_index.name, "p");
  EXPECT_THAT(std::vector<int64_t>(by_index.dims, by_index.dims + by_index.rank), ElementsAre(2, 2));
  EXPECT_EQ(Values(by_index), Expected(model_, x_));
  EXPECT_EQ(ampc_result(results, 1, &by_index), AMPC_USAGE);
  EXPECT_EQ(ampc_result_named(results, "q", &by_index), AMPC_USAGE);
  EXPECT_THAT(ampc_error_text(), HasSubstr("there is no result 'q'"));
  ampc_free_results(results);
}

TEST_F(CApiTest, ReadsInputsAtAnyAddress) {
  std::vector<char> bytes(x_.size() * sizeof(float) + 1);
  std::memcpy(bytes.data() + 1, x_.data(), bytes.size() - 1);
  ampc_tensor input = Input();
  input.data = bytes.data() + 1;
  ampc_results* results = nullptr;
  ampc_tensor p{};
  ASSERT_EQ(ampc_run(session_, &input, 1, &results), AMPC_OK) << ampc_error_text();
  ASSERT_EQ(ampc_result(results, 0, &p), AMPC_OK);
  EXPECT_EQ(Values(p), Expected(model_, x_));
  ampc_free_results(results);
}

TEST_F(CApiTest, RefusesInputsThatDoNotFit) {
  ExpectBadRun({}, "feed 'x' is missing");
  ExpectBadRun({Input(), Input()}, "input 'x' is given twice");
  ampc_tensor input = Input();
  input.name = "y";
  ExpectBadRun({input}, "feed 'x' is missing");
  input = Input();
  input.dtype = 99;
  ExpectBadRun({input}, "input 'x': its dtype is 99");
  input.dtype = AMPC_I32;
  ExpectBadRun({input}, "x");
  input = Input();
  input.bytes = 31;
  ExpectBadRun({input}, "it has 31 bytes, f32 [2, 4] needs 32");
  input = Input();
  input.rank = -1;
  ExpectBadRun({input}, "its rank is -1");
  input = Input();
  const int64_t wide[] = {4, 2}, negative[] = {-2, 4}, huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  input.dims = wide;
  ExpectBadRun({input}, "x");
  input.dims = negative;
  ExpectBadRun({input}, "known dims");
  input.dims = huge;
  ExpectBadRun({input}, "2^63");
}

TEST_F(CApiTest, RefusesNull) {
  ampc_tensor input = Input();
  input.data = nullptr;
  ExpectBadRun({input}, "input 'x': its data is NULL");
  input = Input();
  input.dims = nullptr;
  ExpectBadRun({input}, "its dims is NULL");
  input = Input();
  input.name = nullptr;
  ExpectBadRun({input}, "the name of input 0 is NULL");
  ampc_results* results = nullptr;
  ampc_session* session = nullptr;
  const ampc_option no_value{"device", nullptr}, no_key{nullptr, "cpu"};
  EXPECT_EQ(ampc_run(nullptr, &input, 1, &results), AMPC_USAGE);
  EXPECT_EQ(ampc_run(session_, nullptr, 1, &results), AMPC_USAGE);
  EXPECT_EQ(ampc_run(session_, &input, 1, nullptr), AMPC_USAGE);
  EXPECT_EQ(ampc_load(nullptr, nullptr, 0, &session), AMPC_USAGE);
  EXPECT_EQ(ampc_load(model_.c_str(), nullptr, 1, &session), AMPC_USAGE);
  EXPECT_EQ(ampc_load(model_.c_str(), &no_value, 1, &session), AMPC_USAGE);
  EXPECT_EQ(ampc_load(model_.c_str(), &no_key, 1, &session), AMPC_USAGE);
  EXPECT_EQ(ampc_load(model_.c_str(), nullptr, 0, nullptr), AMPC_USAGE);
  EXPECT_STREQ(ampc_error_text(), "ampc_load: session is NULL");
  EXPECT_EQ(ampc_convert(nullptr, "o.pdmodel", nullptr, 0), AMPC_USAGE);
  EXPECT_EQ(ampc_convert(model_.c_str(), nullptr, nullptr, 0), AMPC_USAGE);
  EXPECT_EQ(ampc_input(session_, 0, nullptr), AMPC_USAGE);
  EXPECT_EQ(ampc_output(nullptr, 0, nullptr), AMPC_USAGE);
  EXPECT_EQ(ampc_result(nullptr, 0, nullptr), AMPC_USAGE);
  EXPECT_EQ(ampc_result_named(nullptr, nullptr, nullptr), AMPC_USAGE);
  EXPECT_EQ(ampc_num_inputs(nullptr) + ampc_num_outputs(nullptr) + ampc_num_results(nullptr), 0u);
  EXPECT_EQ(session, nullptr);
  ampc_free_session(nullptr);
  ampc_free_results(nullptr);
}

TEST_F(CApiTest, LoadsWithOptionsAndRefusesOthers) {
  const auto load = [this](const char* key, const char* value) {
    const ampc_option option{key, value};
    ampc_session* session = nullptr;
    const ampc_code code = ampc_load(model_.c_str(), &option, 1, &session);
    EXPECT_EQ(session != nullptr, code == AMPC_OK);
    ampc_free_session(session);
    return code;
  };
  EXPECT_EQ(load("threads", "1"), AMPC_OK);
  EXPECT_EQ(load("strict-rounding", "true"), AMPC_OK);
  EXPECT_EQ(load("tune-plans", (folder_ / "choices.json").c_str()), AMPC_OK);
  EXPECT_EQ(load("threads", "two"), AMPC_USAGE);
  EXPECT_EQ(load("strict-rounding", "yes"), AMPC_USAGE);
  EXPECT_EQ(load("device", "tpu"), AMPC_USAGE) << ampc_error_text();
  EXPECT_EQ(load("thread", "1"), AMPC_USAGE);
  EXPECT_STREQ(ampc_error_text(), "ampc_load: there is no option 'thread', did you mean 'threads'?");
}

TEST_F(CApiTest, RefusesBadFiles) {
  ampc_session* session = nullptr;
  EXPECT_EQ(ampc_load((folder_ / "absent.pdmodel").c_str(), nullptr, 0, &session), AMPC_BAD_INPUT);
  EXPECT_THAT(ampc_error_text(), HasSubstr("absent.pdmodel"));
  WriteFile(folder_ / "bad.pdmodel", "this is no model");
  EXPECT_EQ(ampc_load((folder_ / "bad.pdmodel").c_str(), nullptr, 0, &session), AMPC_BAD_INPUT);
  EXPECT_EQ(session, nullptr);
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(kUnknownOp));
  ASSERT_OK(SaveModel(program, folder_ / "unknown.pdmodel"));
  // The run names an op that cannot be computed.
  ASSERT_EQ(ampc_load((folder_ / "unknown.pdmodel").c_str(), nullptr, 0, &session), AMPC_OK) << ampc_error_text();
  const ampc_tensor input = Input();
  ampc_results* results = nullptr;
  EXPECT_EQ(ampc_run(session, &input, 1, &results), AMPC_UNSUPPORTED);
  EXPECT_THAT(ampc_error_text(), HasSubstr("my_own_op"));
  EXPECT_EQ(results, nullptr);
  ampc_free_session(session);
}

TEST_F(CApiTest, ConvertsAsTheCommandLineDoes) {
  const std::string out = folder_ / "o.pdmodel", report = folder_ / "r.json";
  const std::vector<ampc_option> options = {
      {"dtype", "bf16"}, {"exclude", "softmax"}, {"exclude", "relu"}, {"report", report.c_str()}, {"no-sync", "true"}};
  ASSERT_EQ(ampc_convert(model_.c_str(), out.c_str(), options.data(), options.size()), AMPC_OK) << ampc_error_text();
  EXPECT_THAT(ReadFile(report), HasSubstr("--dtype bf16 --exclude softmax --exclude relu"));
  ampc_session* session = nullptr;
  ASSERT_EQ(ampc_load(out.c_str(), nullptr, 0, &session), AMPC_OK) << ampc_error_text();
  const ampc_tensor input = Input();
  ampc_results* results = nullptr;
  ampc_tensor p{};
  ASSERT_EQ(ampc_run(session, &input, 1, &results), AMPC_OK) << ampc_error_text();
  ASSERT_EQ(ampc_result(results, 0, &p), AMPC_OK);
  EXPECT_EQ(Values(p), Expected(out, x_));
  EXPECT_NE(Values(p), Expected(model_, x_)) << "nothing became bf16";
  ampc_free_results(results);
  ampc_free_session(session);
}

TEST_F(CApiTest, RefusesConversions) {
  const std::string out = folder_ / "o.pdmodel";
  const auto convert = [&](const std::string& in, const std::string& to, const char* key, const char* value) {
    const ampc_option option{key, value};
    return ampc_convert(in.c_str(), to.c_str(), &option, 1);
  };
  EXPECT_EQ(convert(model_, out, "dtyp", "fp16"), AMPC_USAGE);
  EXPECT_STREQ(ampc_error_text(), "ampc_convert: there is no option 'dtyp', did you mean 'dtype'?");
  EXPECT_EQ(convert(model_, out, "help", "true"), AMPC_USAGE);
  EXPECT_EQ(convert(model_, out, "output", "p.pdmodel"), AMPC_USAGE);
  EXPECT_EQ(convert(model_, out, "h", "true"), AMPC_USAGE);
  EXPECT_EQ(convert(model_, out, "level", "O9"), AMPC_USAGE);
  EXPECT_EQ(convert(model_, out, "guard", "perhaps"), AMPC_USAGE);
  EXPECT_EQ(convert(model_, out, "dtype", "fp8"), AMPC_USAGE);
  EXPECT_EQ(convert(model_, model_, "dtype", "fp16"), AMPC_USAGE);
  EXPECT_EQ(convert(model_, "", "dtype", "fp16"), AMPC_USAGE);
  EXPECT_EQ(convert("", out, "dtype", "fp16"), AMPC_BAD_INPUT) << ampc_error_text();
  EXPECT_EQ(convert(folder_ / "absent.pdmodel", out, "dtype", "fp16"), AMPC_BAD_INPUT);
  EXPECT_EQ(convert(model_, folder_ / "no/such/folder/o.pdmodel", "dtype", "fp16"), AMPC_INTERNAL) << ampc_error_text();
  EXPECT_EQ(convert(model_, out, "write-config", "/dev/full"), AMPC_INTERNAL) << ampc_error_text();
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(CApiTest, ThreadsShareASessionAndHaveErrorsOfTheirOwn) {
  const std::vector<float> expected = Expected(model_, x_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, &expected, t] {
      EXPECT_STREQ(ampc_error_text(), "");
      ampc_tensor input = Input(), p{}, wrong = input;
      wrong.dtype = 50 + t;
      for (int i = 0; i < 20; ++i) {
        ampc_results* results = nullptr;
        EXPECT_EQ(ampc_run(session_, &wrong, 1, &results), AMPC_USAGE);
        ASSERT_EQ(ampc_run(session_, &input, 1, &results), AMPC_OK);
        ASSERT_EQ(ampc_result(results, 0, &p), AMPC_OK);
        EXPECT_EQ(Values(p), expected);
        EXPECT_THAT(ampc_error_text(), HasSubstr("its dtype is " + std::to_string(50 + t)));
        ampc_free_results(results);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CApi, TypesHaveTheirNumbersAndSizes) {
  const std::vector<std::pair<const char*, size_t>> types = {
      {"bool", 1},   {"u8", 1},         {"i8", 1},     {"i16", 2},   {"i32", 4},   {"i64", 8},      {"f16", 2},
      {"bf16", 2},   {"f32", 4},        {"f64", 8},    {"c64", 8},   {"c128", 16}, {"u16", 2},      {"u32", 4},
      {"u64", 8},    {"u4", 1},         {"i4", 1},     {"u2", 1},    {"i2", 1},    {"f8e4m3fn", 1}, {"f8e4m3fnuz", 1},
      {"f8e5m2", 1}, {"f8e5m2fnuz", 1}, {"f8e8m0", 1}, {"f4e2m1", 1}};
  for (int32_t i = 0; i < 25; ++i) {
    EXPECT_STREQ(ampc_dtype_name(i + 1), types[i].first);
    EXPECT_EQ(ampc_dtype_size(i + 1), types[i].second);
  }
  EXPECT_STREQ(ampc_dtype_name(0), "invalid");
  EXPECT_STREQ(ampc_dtype_name(26), "invalid");
  EXPECT_EQ(ampc_dtype_size(-1), 0u);
}

TEST(CApi, HasAVersion) { EXPECT_THAT(ampc_version(), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+")); }

class CExampleTest : public CApiTest {};

TEST_F(CExampleTest, PrintsTheNumbersOfSession) {
  const std::vector<float> expected = Expected(model_, std::vector<float>(8, 1.0f));
  char line[200];
  std::snprintf(line, sizeof(line), "p f32 [2, 2] %.6g %.6g %.6g %.6g\n", expected[0], expected[1], expected[2], expected[3]);
  const Outcome plain = RunProcess("tools/examples/run_model", {"m.pdmodel", "2"}, folder_.path());
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out, line);
}

TEST_F(CExampleTest, ConvertsAndSaysWhatIsWrong) {
  const Outcome converted = RunProcess("tools/examples/run_model", {"m.pdmodel", "2", "h.pdmodel"}, folder_.path());
  EXPECT_EQ(converted.code, 0) << converted.err;
  EXPECT_THAT(converted.out, HasSubstr("p f32 [2, 2] "));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "h.pdmodel"));
  const Outcome absent = RunProcess("tools/examples/run_model", {"absent.pdmodel"}, folder_.path());
  EXPECT_EQ(absent.code, AMPC_BAD_INPUT);
  EXPECT_THAT(absent.err, HasSubstr("run_model: ampc_load: absent.pdmodel"));
}

class ReadmeTest : public CApiTest {};

// The block ```c of tools/docs/programs.md, line by line, and readme.c.
TEST_F(ReadmeTest, PrintedLinesAreCompiled) {
  const std::string readme = ReadFile("tools/docs/programs.md"), compiled = ReadFile("tests/c_api/readme.c");
  const size_t begin = readme.find("```c\n");
  ASSERT_NE(begin, std::string::npos);
  std::istringstream block(readme.substr(begin + 5, readme.find("```", begin + 5) - begin - 5));
  size_t at = 0;
  int lines = 0;
  for (std::string line; std::getline(block, line); ++lines) {
    if (line.empty()) continue;
    at = compiled.find(line + "\n", at);
    ASSERT_NE(at, std::string::npos) << "not compiled, or in another order: " << line;
  }
  EXPECT_GE(lines, 4);
}

TEST_F(ReadmeTest, PrintedLinesRun) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(kMlp));
  ASSERT_OK(SaveModel(program, folder_ / "rec_fp16.pdmodel"));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  float first = 0;
  const ampc_code code = RunReadme(Input(), &first);
  std::filesystem::current_path(before);
  EXPECT_EQ(code, AMPC_OK) << ampc_error_text();
  EXPECT_EQ(first, Expected(model_, x_)[0]);
}

}  // namespace
}  // namespace ampc::testing
