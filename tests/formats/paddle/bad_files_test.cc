// Absent, damaged and foreign files: one sentence, exit code 3 or 4, never a crash.
#include <filesystem>
#include <random>

#include "graph/formats/format.h"
#include "graph/formats/paddle/tensor_stream.h"
#include "graph/verify.h"
#include "tests/formats/paddle/vector.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::ReadFile;
using ::ampc::testing::StatusIs;
using ::ampc::testing::TempFolder;
using ::ampc::testing::VectorParams;
using ::ampc::testing::VectorProgram;
using ::ampc::testing::WriteFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A damaged file is refused for what it is, or happens to be another valid one.
void ExpectNoSurprise(const std::string& path, const LoadOptions& options) {
  const absl::StatusOr<Program> program = LoadModel(path, options);
  if (program.ok()) {
    (void)Verify(*program);
    return;
  }
  EXPECT_THAT(ExitCodeOf(program.status()), ::testing::AnyOf(ExitCode::kBadInput, ExitCode::kUnsupported)) << program.status();
}

TEST(BadProgram, Absent) {
  EXPECT_THAT(LoadModel("nowhere/x.pdmodel"),
              StatusIs(ExitCode::kBadInput, AllOf(HasSubstr("nowhere/x.pdmodel"), HasSubstr("no such file"))));
}

TEST(BadProgram, EveryTruncation) {
  const TempFolder folder;
  const std::string whole = VectorProgram();
  WriteFile(folder / "m.pdiparams", VectorParams());
  for (size_t n = 0; n < whole.size(); ++n) {
    WriteFile(folder / "m.pdmodel", whole.substr(0, n));
    ExpectNoSurprise(folder / "m.pdmodel", {});
  }
  WriteFile(folder / "m.pdmodel", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(LoadModel(folder / "m.pdmodel"), StatusIs(ExitCode::kBadInput, HasSubstr("not a Paddle program, or damaged")));
}

TEST(BadProgram, EveryBitFlip) {
  const TempFolder folder;
  const std::string whole = VectorProgram();
  WriteFile(folder / "m.pdiparams", VectorParams());
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    WriteFile(folder / "m.pdmodel", damaged);
    ExpectNoSurprise(folder / "m.pdmodel", {});
  }
}

TEST(BadProgram, RandomDamageToControlFlow) {
  const TempFolder folder;
  const std::string whole = ReadFile("tests/golden/paddle/while_2.6.pdmodel");
  ASSERT_FALSE(whole.empty());
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    WriteFile(folder / "m.pdmodel", damaged);
    ExpectNoSurprise(folder / "m.pdmodel", {.program_only = true});
  }
}

TEST(BadProgram, FolderWithoutOne) {
  const TempFolder folder;
  EXPECT_THAT(LoadModel(folder.path()), StatusIs(ExitCode::kBadInput, HasSubstr("without __model__, x.pdmodel or inference.json")));
}

TEST(BadProgram, UnknownFormat) {
  const TempFolder folder;
  WriteFile(folder / "m.bin", "hello");
  EXPECT_THAT(LoadModel(folder / "m.bin"), StatusIs(ExitCode::kBadInput, HasSubstr("not a model file of a known format")));
  EXPECT_THAT(SaveModel(Program(), folder / "m.bin"), StatusIs(ExitCode::kUsage, HasSubstr("m.bin")));
}

class BadParams : public ::testing::Test {
 protected:
  absl::Status LoadWith(const std::string& params) {
    WriteFile(folder_ / "m.pdmodel", VectorProgram());
    WriteFile(folder_ / "m.pdiparams", params);
    return LoadModel(folder_ / "m.pdmodel").status();
  }
  TempFolder folder_;
};

TEST_F(BadParams, Absent) {
  WriteFile(folder_ / "m.pdmodel", VectorProgram());
  EXPECT_THAT(LoadModel(folder_ / "m.pdmodel"),
              StatusIs(ExitCode::kBadInput, AllOf(HasSubstr("m.pdiparams"), HasSubstr("no such file"), HasSubstr("--program-only"))));
  EXPECT_OK(LoadModel(folder_ / "m.pdmodel", {.program_only = true}));
}

TEST_F(BadParams, EveryTruncationIsRefused) {
  const std::string whole = VectorParams();
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_THAT(LoadWith(whole.substr(0, n)), StatusIs(ExitCode::kBadInput, HasSubstr("m.pdiparams"))) << n;
  }
  EXPECT_OK(LoadWith(whole));
}

TEST_F(BadParams, TrailingBytes) {
  EXPECT_THAT(LoadWith(VectorParams() + "x"), StatusIs(ExitCode::kBadInput, HasSubstr("1 bytes follow the last of the 1 parameters")));
}

TEST_F(BadParams, EveryBitFlipOfTheHeader) {
  const std::string whole = VectorParams();
  for (size_t bit = 0; bit < 26 * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const absl::Status status = LoadWith(damaged);
    ASSERT_FALSE(status.ok()) << bit;
    EXPECT_THAT(ExitCodeOf(status), ::testing::AnyOf(ExitCode::kBadInput, ExitCode::kUnsupported)) << status;
  }
}

// The header of a tensor with a hand-made description.
std::string Stream(const std::string& desc) { return paddle::TensorHeader("", desc); }

TEST_F(BadParams, InflatedSizes) {
  // 2^40 levels of detail.
  EXPECT_THAT(LoadWith(std::string(4, '\0') + std::string("\0\0\0\0\0\1\0\0", 8) + std::string(32, '\0')),
              StatusIs(ExitCode::kBadInput, HasSubstr("LoD levels")));
  // A level of 2^56 bytes.
  EXPECT_THAT(LoadWith(std::string(4, '\0') + std::string("\1\0\0\0\0\0\0\0", 8) + std::string("\0\0\0\0\0\0\0\1", 8)),
              StatusIs(ExitCode::kBadInput, HasSubstr("the file has 0 left")));
  // Shapes whose size overflows, and one that is only too large.
  const std::vector<int64_t> huge(4, int64_t{1} << 32);
  EXPECT_THAT(LoadWith(Stream(paddle::TensorDescBytes(DType::kF16, huge))),
              StatusIs(ExitCode::kBadInput, HasSubstr("more than 2^64 bytes")));
  EXPECT_THAT(LoadWith(Stream(paddle::TensorDescBytes(DType::kF16, {1 << 20, 1 << 20}))),
              StatusIs(ExitCode::kBadInput, HasSubstr("the file has 0 left")));
  EXPECT_THAT(LoadWith(Stream(paddle::TensorDescBytes(DType::kF16, {-2, 2}))), StatusIs(ExitCode::kBadInput, HasSubstr("dimension -2")));
  EXPECT_THAT(LoadWith(Stream("\x08")), StatusIs(ExitCode::kBadInput, HasSubstr("malformed tensor description")));
  EXPECT_THAT(LoadWith(Stream(std::string("\x08\x20", 2))), StatusIs(ExitCode::kUnsupported, HasSubstr("element type number 32")));
}

TEST_F(BadParams, WrongShapeOrType) {
  EXPECT_THAT(LoadWith(Stream(paddle::TensorDescBytes(DType::kF16, {4})) + std::string(8, '\0')),
              StatusIs(ExitCode::kBadInput, AllOf(HasSubstr("parameter 'w' has shape [4]"), HasSubstr("do not belong together"))));
  EXPECT_THAT(LoadWith(Stream(paddle::TensorDescBytes(DType::kI16, {2, 2})) + std::string(8, '\0')),
              StatusIs(ExitCode::kBadInput, AllOf(HasSubstr("int16"), HasSubstr("do not belong together"))));
}

// A program that was rewritten before its parameters were cast.
TEST_F(BadParams, Float32UnderADeclaredLowType) {
  const float values[] = {1.0f, 65520.0f, 0.5f, -3.0f};
  ASSERT_OK(
      LoadWith(Stream(paddle::TensorDescBytes(DType::kF32, {2, 2})) + std::string(reinterpret_cast<const char*>(values), sizeof(values))));
  const absl::StatusOr<Program> program = LoadModel(folder_ / "m.pdmodel");
  ASSERT_OK(program);
  EXPECT_OK(Verify(*program));
  const Var& w = *program->main().FindVar("w");
  const absl::StatusOr<HostTensor> value = LoadWeight(*w.weight, w.type.dims);
  ASSERT_OK(value);
  EXPECT_EQ(value->values<Half>()[1].bits, 0x7c00);
  EXPECT_EQ(value->values<Half>()[3].bits, Half(-3.0f).bits);
}

TEST(BadSeparate, NameThatLeavesTheFolder) {
  const TempFolder folder;
  std::string program = VectorProgram();
  // The parameter "w" becomes "/": same length.
  for (const char* field : {"\x0a\x01w", "\x12\x01w"}) {
    const size_t at = program.find(field);
    ASSERT_NE(at, std::string::npos);
    program[at + 2] = '/';
  }
  WriteFile(folder / "__model__", program);
  EXPECT_THAT(LoadModel(folder.path()), StatusIs(ExitCode::kBadInput, HasSubstr("cannot be a file name")));
}

}  // namespace
}  // namespace ampc
