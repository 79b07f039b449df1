// The formats of our own: model.ampc + model.safetensors, x.prog + x.safetensors.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "graph/formats/format.h"
#include "graph/text/parser.h"
#include "graph/verify.h"
#include "proto/program.pb.h"
#include "tests/formats/paddle/vector.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::ReadFile;
using ::ampc::testing::StatusIs;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Every kind of variable, attribute and mark that the text can spell.
constexpr absl::string_view kText = R"(
program everything version=7

block main {
  feed x : f32 [batch, 3] stop_gradient
  param w : f16 [3, 2] trainable !was=f32 = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  state s : i64 [1] = [5]
  const c : f32 [2] = [0.5, -1.0]
  carry i : i64 [1] as="loop.i"
  x.f16 = cast(x) in_dtype=f32 out_dtype=f16 !amp=inserted : f16 [batch, 3]
  y = matmul_v2(x.f16, w) !guard=2 !was=f32 : f16 [batch, 2]
  strange(A=[y], B=[x, c]) -> Out=[z] a=3 b=3l c=[1.5d, 2.0d] d="text" e=bool[] f=[true, false] g=$"var" h=scalar(2.5d) !amp=fp32("a reason") !opaque : f32 [*]
  fetch y
  fetch z
}
)";

Program Everything() {
  absl::StatusOr<Program> program = ParseProgram(kText);
  EXPECT_OK(program);
  return program.ok() ? *std::move(program) : Program();
}

// Equal but for the places where weights lie.
::testing::AssertionResult Same(const Program& a, const Program& b) {
  const auto bare = [](const Program& program) {
    Program copy = program.Clone();
    for (int i = 0; i < copy.num_blocks(); ++i) {
      for (const std::unique_ptr<Var>& var : copy.block(i).vars()) var->weight = nullptr;
    }
    return copy;
  };
  std::string why;
  if (SameProgram(bare(a), bare(b), &why)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << why;
}

class OwnFormat : public ::testing::TestWithParam<const char*> {};

TEST_P(OwnFormat, KeepsEverything) {
  const TempFolder folder;
  const Program program = Everything();
  ASSERT_OK(SaveModel(program, folder / GetParam()));
  absl::StatusOr<Program> back = LoadModel(folder / GetParam());
  ASSERT_OK(back);
  EXPECT_TRUE(Same(program, *back));
  ASSERT_NE(back->main().FindVar("w")->weight, nullptr);
  absl::StatusOr<HostTensor> w = LoadWeight(*back->main().FindVar("w")->weight, {3, 2});
  ASSERT_OK(w);
  EXPECT_EQ(static_cast<float>(w->values<Half>()[5]), 6.0f);
  // Written again it is the same file.
  ASSERT_OK(SaveModel(*back, folder / (std::string("again_") + GetParam())));
  absl::StatusOr<Program> again = LoadModel(folder / (std::string("again_") + GetParam()));
  ASSERT_OK(again);
  EXPECT_TRUE(Same(program, *again));
}

TEST_P(OwnFormat, TakesAPaddleModel) {
  const TempFolder folder;
  WriteFile(folder / "m.pdmodel", testing::VectorProgram());
  WriteFile(folder / "m.pdiparams", testing::VectorParams());
  absl::StatusOr<Program> program = LoadModel(folder / "m.pdmodel");
  ASSERT_OK(program);
  program->main().FindVar("w")->weight->transforms.push_back({DType::kF32});
  program->main().FindVar("w")->type.dtype = DType::kF32;
  ASSERT_OK(SaveModel(*program, folder / GetParam()));
  absl::StatusOr<Program> back = LoadModel(folder / GetParam());
  ASSERT_OK(back);
  EXPECT_EQ(back->main().FindVar("w")->weight->dtype, DType::kF32);
  EXPECT_EQ(back->main().FindVar("w")->weight->transforms.size(), 0u);
  absl::StatusOr<HostTensor> w = LoadWeight(*back->main().FindVar("w")->weight, {2, 2});
  ASSERT_OK(w);
  EXPECT_EQ(*w, HostTensor::Of<float>({2, 2}, {1.0f, -2.0f, 0.5f, 65504.0f}));
}

TEST_P(OwnFormat, ControlFlowAndVersions) {
  const TempFolder folder;
  for (const char* name : {"while_2.6", "cond_2.4", "inplace_2.0", "train_o1_2.0"}) {
    absl::StatusOr<Program> program = LoadModel(std::string("tests/golden/paddle/") + name + ".pdmodel", {.program_only = true});
    ASSERT_OK(program);
    ASSERT_OK(SaveModel(*program, folder / GetParam(), {.program_only = true}));
    absl::StatusOr<Program> back = LoadModel(folder / GetParam());
    ASSERT_OK(back);
    EXPECT_OK(Verify(*back));
    EXPECT_TRUE(Same(*program, *back)) << name;
  }
}

TEST_P(OwnFormat, ProgramOnly) {
  const TempFolder folder;
  ASSERT_OK(SaveModel(Everything(), folder / GetParam()));
  absl::StatusOr<Program> program = LoadModel(folder / GetParam(), {.program_only = true});
  ASSERT_OK(program);
  EXPECT_EQ(program->main().FindVar("w")->weight, nullptr);
  EXPECT_NE(program->main().FindVar("c")->literal, nullptr);
}

TEST_P(OwnFormat, SavingReportsProgressAndDamage) {
  const TempFolder folder;
  constexpr int64_t kElements = 300000;  // more than one window
  std::vector<float> values(kElements, 1.0f);
  values[0] = 1e6f;
  values[kElements - 1] = 1e-30f;
  absl::StatusOr<Program> program =
      ParseProgram("program p version=1\nblock main {\n  param w : f16 [300000]\n  y = relu(w) : f16 [300000]\n  fetch y\n}\n");
  ASSERT_OK(program);
  Var* w = program->main().FindVar("w");
  w->weight = std::make_unique<WeightRef>();
  w->weight->source = WeightBuffer(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  w->weight->bytes = values.size() * sizeof(float);
  w->weight->dtype = DType::kF32;
  w->weight->transforms = {{DType::kF16}};
  SaveOptions options;
  double last = 0, total = 0;
  options.progress = [&](double done, double all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
    return true;
  };
  int reports = 0;
  options.on_weight = [&](const Var& var, const WeightDamage& damage) {
    ++reports;
    EXPECT_EQ(var.name(), "w");
    EXPECT_EQ(damage.elements, kElements);
    EXPECT_EQ(damage.clamped, 1);
    EXPECT_EQ(damage.flushed, 1);
    EXPECT_EQ(damage.max_abs, 1e6f);
  };
  for (const char* name : {GetParam(), "m.pdmodel"}) {
    last = 0;
    reports = 0;
    ASSERT_OK(SaveModel(*program, folder / name, options));
    EXPECT_EQ(last, 2.0 * kElements);
    EXPECT_EQ(total, last);
    EXPECT_EQ(reports, 1);
  }
  options.progress = [](double, double) { return false; };
  for (const char* name : {GetParam(), "stopped.pdmodel"}) {
    const TempFolder empty;
    EXPECT_EQ(SaveModel(*program, empty / name, options).code(), absl::StatusCode::kCancelled);
    EXPECT_TRUE(std::filesystem::is_empty(empty.path()));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, OwnFormat, ::testing::Values("m.ampc", "m.prog"),
                         [](const auto& info) { return std::string(info.param).substr(2); });

TEST(Ampc, WeightsOfAnotherSave) {
  const TempFolder folder;
  Program program = Everything();
  ASSERT_OK(SaveModel(program, folder / "m.ampc"));
  const std::string first = ReadFile(folder / "m.ampc");
  Var* w = program.main().FindVar("w");
  w->weight->transforms.push_back({DType::kF32});
  w->type.dtype = DType::kF32;
  ASSERT_OK(SaveModel(program, folder / "m.ampc"));
  EXPECT_OK(LoadModel(folder / "m.ampc"));
  WriteFile(folder / "m.ampc", first);  // as if the program had not been replaced
  EXPECT_THAT(LoadModel(folder / "m.ampc"),
              StatusIs(ExitCode::kBadInput, AllOf(HasSubstr("m.safetensors"), HasSubstr("do not belong together"))));
}

TEST(Ampc, WeightsOfAnotherSaveOfTheSameSize) {
  const TempFolder folder;
  Program program = Everything();
  ASSERT_OK(SaveModel(program, folder / "m.ampc"));
  std::string weights = ReadFile(folder / "m.safetensors");
  const size_t name = weights.find("\"w\"");
  ASSERT_NE(name, std::string::npos);
  weights[name + 1] = 'z';
  WriteFile(folder / "m.safetensors", weights);
  EXPECT_THAT(LoadModel(folder / "m.ampc"), StatusIs(ExitCode::kBadInput, HasSubstr("do not belong together")));
}

// The header may name types that no program has.
TEST(Prog, WeightsOfAnUnknownType) {
  const TempFolder folder;
  const std::string header = R"({"w":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})";
  std::string size(8, '\0');
  size[0] = static_cast<char>(header.size());
  WriteFile(folder / "w.safetensors", size + header + "xyz");
  WriteFile(folder / "m.prog", "program p version=1\nblock main {\n  param w : f32 [4] = @w.safetensors:w\n  fetch w\n}\n");
  EXPECT_THAT(LoadModel(folder / "m.prog"),
              StatusIs(ExitCode::kUnsupported, HasSubstr("tensor 'w' has element type F6_E2M3, which is not supported")));
}

// The text names the file of weights, whatever it is called.
TEST(Prog, FilesMayHaveBlanksInTheirNames) {
  const TempFolder folder;
  const Program program = Everything();
  ASSERT_OK(SaveModel(program, folder / "a b;c.prog"));
  ASSERT_OK_AND_ASSIGN(const Program read, LoadModel(folder / "a b;c.prog"));
  EXPECT_TRUE(read.main().FindVar("w")->weight != nullptr);
}

TEST(Ampc, TheFileOfWeightsIsInTheSameFolder) {
  const TempFolder folder;
  ASSERT_OK(SaveModel(Everything(), folder / "m.ampc"));
  proto::Program message;
  ASSERT_TRUE(message.ParseFromString(ReadFile(folder / "m.ampc")));
  for (const char* name : {"", "sub/m.safetensors", "/m.safetensors"}) {
    message.mutable_weights()->set_file(name);
    WriteFile(folder / "m.ampc", message.SerializeAsString());
    EXPECT_THAT(LoadModel(folder / "m.ampc"), StatusIs(ExitCode::kBadInput, HasSubstr("needs a file name in the program's folder")))
        << name;
  }
}

TEST(Ampc, NewerReaderNeeded) {
  const TempFolder folder;
  ASSERT_OK(SaveModel(Everything(), folder / "m.ampc"));
  proto::Program message;
  ASSERT_TRUE(message.ParseFromString(ReadFile(folder / "m.ampc")));
  message.set_min_reader_version(2);
  WriteFile(folder / "m.ampc", message.SerializeAsString());
  EXPECT_THAT(LoadModel(folder / "m.ampc"),
              StatusIs(ExitCode::kUnsupported, HasSubstr("needs a reader of format version 2, this one reads up to 1")));
  message.set_min_reader_version(1);
  (*message.mutable_op_versions())["matmul_v2"] = 1;
  WriteFile(folder / "m.ampc", message.SerializeAsString());
  EXPECT_THAT(LoadModel(folder / "m.ampc"), StatusIs(ExitCode::kUnsupported, HasSubstr("op 'matmul_v2' has version 1")));
}

// Fields of a newer version survive reading and writing.
TEST(Ampc, UnknownFieldsAreKept) {
  const TempFolder folder;
  ASSERT_OK(SaveModel(Everything(), folder / "m.ampc"));
  proto::Program message;
  ASSERT_TRUE(message.ParseFromString(ReadFile(folder / "m.ampc")));
  const std::string field = "\xc2\x3e\x03new";  // number 1000
  *message.mutable_unknown_fields() = field;
  *message.mutable_blocks(0)->mutable_vars(1)->mutable_unknown_fields() = field;
  *message.mutable_blocks(0)->mutable_ops(1)->mutable_unknown_fields() = field;
  WriteFile(folder / "m.ampc", message.SerializeAsString());
  absl::StatusOr<Program> program = LoadModel(folder / "m.ampc");
  ASSERT_OK(program);
  ASSERT_OK(SaveModel(*program, folder / "out.ampc"));
  proto::Program back;
  ASSERT_TRUE(back.ParseFromString(ReadFile(folder / "out.ampc")));
  EXPECT_EQ(back.unknown_fields(), field);
  EXPECT_EQ(back.blocks(0).vars(1).unknown_fields(), field);
  EXPECT_EQ(back.blocks(0).ops(1).unknown_fields(), field);
  EXPECT_EQ(back.blocks(0).ops(0).unknown_fields(), "");
}

TEST(Ampc, EveryTruncationAndBitFlip) {
  const TempFolder folder;
  ASSERT_OK(SaveModel(Everything(), folder / "m.ampc"));
  const std::string whole = ReadFile(folder / "m.ampc");
  const auto check = [&](const std::string& bytes) {
    WriteFile(folder / "m.ampc", bytes);
    const absl::StatusOr<Program> program = LoadModel(folder / "m.ampc");
    if (program.ok()) {
      (void)Verify(*program);
    } else {
      EXPECT_THAT(ExitCodeOf(program.status()), ::testing::AnyOf(ExitCode::kBadInput, ExitCode::kUnsupported)) << program.status();
    }
  };
  for (size_t n = 0; n < whole.size(); ++n) check(whole.substr(0, n));
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    check(damaged);
  }
  WriteFile(folder / "m.ampc", "");
  EXPECT_THAT(LoadModel(folder / "m.ampc"), StatusIs(ExitCode::kBadInput, HasSubstr("not an ampc program")));
}

// 4 GiB more than a program has: a message's size is a number of 31 bits.
TEST(Ampc, AFileBeyondTheSizeOfAMessage) {
  const TempFolder folder;
  ASSERT_OK(SaveModel(Everything(), folder / "m.ampc"));
  const uint64_t size = std::filesystem::file_size(folder / "m.ampc") + (uint64_t{1} << 32);
  std::filesystem::resize_file(folder / "m.ampc", size);  // holes
  EXPECT_THAT(LoadModel(folder / "m.ampc"),
              StatusIs(ExitCode::kBadInput, HasSubstr(absl::StrCat("not an ampc program, or damaged (", size, " bytes)"))));
}

TEST(Prog, SmallLiteralsStayInTheText) {
  const TempFolder folder;
  ASSERT_OK(SaveModel(Everything(), folder / "m.prog"));
  EXPECT_THAT(ReadFile(folder / "m.prog"), HasSubstr("= [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]"));
  EXPECT_EQ(ReadFile(folder / "m.safetensors"), "");
}

}  // namespace
}  // namespace ampc
