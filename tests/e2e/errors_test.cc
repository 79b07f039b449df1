// Errors: exit code, one line on standard error that begins with "ampc", and no file left behind.
#include <sys/stat.h>

#include <filesystem>

#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

class FailingTest : public CliTest {
 protected:
  void SetUp() override {
    MakeModel("mlp", kMlp);
    WriteArchive("in.npz", {{"x", HostTensor::Of<float>({1, 4}, {1, 2, 3, 4})}});
  }
};

TEST_F(FailingTest, UnknownVerbsAndOptions) {
  ExpectFailure({}, 2, "verb");
  ExpectFailure({"convrt", "mlp.pdmodel", "-o", "o.pdmodel"}, 2, "did you mean 'convert'?");
  ExpectFailure({"zzz"}, 2, "there is no verb 'zzz'");
  ExpectFailure({"--verbos"}, 2, "--verbos");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--dtyp", "fp16"}, 2, "did you mean '--dtype'?");
  ExpectFailure({"run", "mlp.pdmodel", "--inptu", "in.npz"}, 2, "did you mean '--input'?");
  ExpectFailure({"inspect", "mlp.pdmodel", "--zzz"}, 2, "--zzz");
}

// Nothing waits for the writer of a pipe.
TEST_F(FailingTest, PipesAreNoModels) {
  const std::filesystem::path pipes = std::filesystem::path(::testing::TempDir()) / "pipes";
  std::filesystem::remove_all(pipes);
  std::filesystem::create_directories(pipes);
  for (const char* name : {"m.onnx", "m.pdmodel", "m.prog", "m.ampc", "m.npz"}) ASSERT_EQ(mkfifo((pipes / name).c_str(), 0600), 0);
  for (const char* name : {"m.onnx", "m.pdmodel", "m.prog", "m.ampc"}) {
    const std::string pipe = pipes / name;
    const std::vector<Args> all = {{"inspect", pipe},
                                   {"convert", pipe, "-o", "o.onnx"},
                                   {"run", pipe, "--input", "in.npz"},
                                   {"compare", "mlp.pdmodel", pipe, "--input", "in.npz"},
                                   {"strip", "mlp.pdmodel", "-o", "o.pdmodel", "--weights", pipe}};
    for (const Args& args : all) ExpectFailure(args, 3, "is a device or pipe");
  }
  ExpectFailure({"run", "mlp.pdmodel", "--input", pipes / "m.npz"}, 3, "is a device or pipe");
  ExpectFailure({"inspect", "mlp.pdmodel", "--params", pipes / "m.npz"}, 3, "is a device or pipe");
}

TEST_F(FailingTest, MissingAndSurplusArguments) {
  ExpectFailure({"convert"}, 2, "required");
  ExpectFailure({"convert", "mlp.pdmodel"}, 2, "--output");
  ExpectFailure({"run", "mlp.pdmodel"}, 2, "--input");
  ExpectFailure({"inspect", "mlp.pdmodel", "mlp.pdmodel"}, 2, "mlp.pdmodel");
  ExpectFailure({"opt", "mlp.pdmodel"}, 2, "--passes");
}

TEST_F(FailingTest, WrongValuesOfOptions) {
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--dtype", "fp8"}, 2, "fp8");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--dtype", "fp32"}, 2, "fp32");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--level", "O7"}, 2, "O7");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--keep-io", "--low-io"}, 2, "contradict");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.unknown"}, 2, "o.unknown");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "--repeat", "0"}, 2, "--repeat");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "--threads", "-1"}, 2, "threads");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "-o", "out.txt"}, 2, "out.txt");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "-o", "out.txt", "--profile", "trace.json"}, 2, "out.txt");
  ExpectFailure({"dot", "mlp.pdmodel", "-o", "graph.png"}, 2, "graph.png");
  ExpectFailure({"opt", "mlp.pdmodel", "--passes=fold-cast", "-o", "o.pdmodel"}, 2, "did you mean 'fold-casts'?");
  ExpectFailure({"opt", "mlp.pdmodel", "--passes=fold-casts{", "-o", "o.pdmodel"}, 2, "fold-casts");
  ExpectFailure({"opt", "mlp.pdmodel", "--passes=amp-decide{levle=O2}"}, 2, "levle");
}

TEST_F(FailingTest, NamesInListsMustExist) {
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--black-list", "softmxa"}, 2, "did you mean 'softmax'?");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--white-list", "matmul_v3"}, 2, "matmul_v3");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--black-vars", "logit"}, 2, "did you mean 'logits'?");
}

// A user of options knows no passes.
TEST_F(FailingTest, OptionsAreBlamedWithoutPasses) {
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--exclude", "no_such"}, 2, "ampc convert: selector 'no_such' matches no op");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--input-range", "y=0:1"}, 2, "ampc convert: an input range names 'y'");
  ExpectFailure({"opt", "mlp.pdmodel", "--passes=amp-decide{exclude=no_such}"}, 2, "pass 'amp-decide': selector 'no_such'");
}

TEST_F(FailingTest, WeightsOfATypeThatIsNotSupported) {
  const std::string header = R"({"w":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})";
  Write("w.safetensors", std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + "abc");
  Write("m.prog", "program m version=1\n\nblock main {\n  param w : f32 [4] = @w.safetensors:w\n  fetch w\n}\n");
  ExpectFailure({"inspect", "m.prog"}, 4, "m.prog:4: w.safetensors: tensor 'w' has element type F6_E2M3, which is not supported");
}

TEST_F(FailingTest, AbsentFiles) {
  for (const char* verb : {"inspect", "verify"}) ExpectFailure({verb, "absent.pdmodel"}, 3, "absent.pdmodel");
  ExpectFailure({"convert", "absent.pdmodel", "-o", "o.pdmodel"}, 3, "absent.pdmodel");
  ExpectFailure({"strip", "absent.pdmodel", "-o", "o.pdmodel"}, 3, "absent.pdmodel");
  ExpectFailure({"dot", "absent.pdmodel", "-o", "o.dot"}, 3, "absent.pdmodel");
  ExpectFailure({"opt", "absent.pdmodel", "--passes=dedup", "-o", "o.pdmodel"}, 3, "absent.pdmodel");
  ExpectFailure({"run", "absent.pdmodel", "--input", "in.npz"}, 3, "absent.pdmodel");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "absent.npz", "-o", "out.npz"}, 3, "absent.npz");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "x=absent.npy", "-o", "out.npz"}, 3, "absent.npy");
  ExpectFailure({"compare", "mlp.pdmodel", "absent.pdmodel", "--input", "in.npz"}, 3, "absent.pdmodel");
  ExpectFailure({"strip", "mlp.pdmodel", "-o", "o.pdmodel", "--weights", "absent.pdmodel"}, 3, "absent.pdmodel");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--params", "absent.pdiparams"}, 3, "absent.pdiparams");
}

TEST_F(FailingTest, DamagedPrograms) {
  const std::string program = Read("mlp.pdmodel"), params = Read("mlp.pdiparams");
  Write("cut.pdiparams", params);
  Write("cut.pdmodel", program.substr(0, program.size() / 2));
  Write("noise.pdiparams", params);
  Write("noise.pdmodel", std::string(500, '\xa7'));
  Write("empty.pdmodel", "");
  Write("text.prog", "program p version=1\n\nblock main {\n  y = relu(nothing) : f32 [2]\n}\n");
  Write("model.bin", "not a model");
  for (const char* name : {"cut.pdmodel", "noise.pdmodel", "text.prog", "model.bin"}) {
    ExpectFailure({"inspect", name}, 3, name);
    ExpectFailure({"convert", name, "-o", "o.pdmodel"}, 3, name);
    ExpectFailure({"run", name, "--input", "in.npz", "-o", "out.npz"}, 3, name);
  }
  ExpectFailure({"convert", "empty.pdmodel", "-o", "o.pdmodel"}, 3, "empty.pdmodel");
}

TEST_F(FailingTest, DamagedWeights) {
  const std::string program = Read("mlp.pdmodel"), params = Read("mlp.pdiparams");
  MakeModel("conv", kConvNet);
  const std::map<std::string, std::string> bad = {{"cut", params.substr(0, params.size() - 3)},
                                                  {"header", params.substr(0, 10)},
                                                  {"empty", ""},
                                                  {"long", params + "tail"},
                                                  {"other", Read("conv.pdiparams")}};
  for (const auto& [name, bytes] : bad) {
    Write(name + ".pdmodel", program);
    Write(name + ".pdiparams", bytes);
    ExpectFailure({"convert", name + ".pdmodel", "-o", "o.pdmodel"}, 3, name + ".pdiparams");
    ExpectFailure({"run", name + ".pdmodel", "--input", "in.npz"}, 3, name + ".pdiparams");
  }
  Write("alone.pdmodel", program);
  ExpectFailure({"run", "alone.pdmodel", "--input", "in.npz"}, 3, "alone.pdiparams");
}

TEST_F(FailingTest, WeightsOfAnotherModel) {
  MakeModel("conv", kConvNet);
  ExpectFailure({"strip", "mlp.pdmodel", "-o", "o.pdmodel", "--weights", "conv.pdmodel"}, 3, "conv.pdmodel");
}

TEST_F(FailingTest, DamagedInputs) {
  const std::string archive = Read("in.npz");
  Write("cut.npz", archive.substr(0, archive.size() / 2));
  Write("text.npz", "hello");
  for (const char* name : {"cut.npz", "text.npz"}) ExpectFailure({"run", "mlp.pdmodel", "--input", name, "-o", "out.npz"}, 3, name);
}

TEST_F(FailingTest, WrongFeeds) {
  WriteArchive("other.npz", {{"y", HostTensor::Of<float>({1, 4}, {1, 2, 3, 4})}});
  WriteArchive("extra.npz", {{"x", HostTensor::Of<float>({1, 4}, {1, 2, 3, 4})}, {"z", HostTensor::Of<float>({1}, {1})}});
  WriteArchive("long.npz", {{"x", HostTensor::Of<int64_t>({1, 4}, {1, 2, 3, 4})}});
  WriteArchive("wide.npz", {{"x", HostTensor::Of<float>({1, 5}, {1, 2, 3, 4, 5})}});
  WriteArchive("flat.npz", {{"x", HostTensor::Of<float>({4}, {1, 2, 3, 4})}});
  for (const auto& [name, part] : {std::pair{"other.npz", "'x'"}, std::pair{"extra.npz", "'z'"}, std::pair{"long.npz", "i64"},
                                   std::pair{"wide.npz", "[1, 5]"}, std::pair{"flat.npz", "[4]"}}) {
    ExpectFailure({"run", "mlp.pdmodel", "--input", name, "-o", "out.npz"}, 2, part);
    ExpectFailure({"compare", "mlp.pdmodel", "mlp.pdmodel", "--input", name}, 2, part);
  }
}

TEST_F(FailingTest, ABranchThatWritesNothing) {
  MakeModel("branch", kBranch);
  WriteArchive("flag.npz", {{"x", HostTensor::Of<float>({1, 4}, {1, 2, 3, 4})}, {"flag", HostTensor::Of<bool>({1}, {false})}});
  ExpectFailure({"run", "branch.pdmodel", "--input", "flag.npz", "-o", "out.npz"}, 2, "no branch that ran has written it");
}

TEST_F(FailingTest, WhatCannotBeExecuted) {
  MakeModel("unknown", kUnknownOp);
  ExpectFailure({"run", "unknown.pdmodel", "--input", "in.npz", "-o", "out.npz"}, 4, "my_own_op");
  ExpectFailure({"compare", "mlp.pdmodel", "unknown.pdmodel", "--input", "in.npz"}, 4, "my_own_op");
  Write("lod.prog", "program lod version=1\n\nblock main {\n  feed x : f32 [?, 4] lod=1\n  y = relu(x) : f32 [?, 4] lod=1\n  fetch y\n}\n");
  ExpectFailure({"run", "lod.prog", "--input", "in.npz"}, 4, "lod_level 1");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "--device", "cuda"}, 4, "cuda");
}

TEST_F(FailingTest, FormatsThatAreNotRead) {
  Write("paddle3/inference.json", R"({"base_code":{"magic":"pir","version":99}})");
  for (const char* model : {"paddle3", "paddle3/inference.json"}) {
    ExpectFailure({"inspect", model}, 4, "PIR version 99");
    ExpectFailure({"convert", model, "-o", "o.pdmodel"}, 4, "PIR version 99");
  }
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.onnx"}, 4, "ONNX");
}

TEST_F(FailingTest, OutputsThatCannotBeWritten) {
  for (const std::string folder : {"absent/", "in.npz/"}) {  // no folder, a file
    ExpectFailure({"convert", "mlp.pdmodel", "-o", folder + "o.pdmodel"}, 5, folder);
    ExpectFailure({"convert", "mlp.pdmodel", "-o", folder + "o.ampc"}, 5, folder);
    ExpectFailure({"convert", "mlp.pdmodel", "-o", folder + "o.prog"}, 5, folder);
    ExpectFailure({"strip", "mlp.pdmodel", "-o", folder + "o.pdmodel"}, 5, folder);
    ExpectFailure({"opt", "mlp.pdmodel", "--passes=dedup", "-o", folder + "o.pdmodel"}, 5, folder);
    ExpectFailure({"dot", "mlp.pdmodel", "-o", folder + "o.dot"}, 5, folder);
    ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "-o", folder + "out.npz"}, 5, folder);
    ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "--profile", folder + "trace.json"}, 5, folder);
  }
}

TEST_F(FailingTest, StandardOutputThatCannotBeWritten) {
  const Outcome outcome = RunProcess(
      "/bin/sh", {"-c", "\"$0\" inspect mlp.pdmodel > /dev/full", std::filesystem::absolute("tools/ampc").string()}, folder_.path());
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, StartsWith("ampc inspect: writing to standard output failed"));
}

// The second of two files fails: the first must not stay.
TEST_F(FailingTest, HalfOfTwoOutputsIsNotLeftBehind) {
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--params-output", "absent/o.pdiparams"}, 5, "absent/");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "absent/o.pdmodel", "--params-output", "o.pdiparams"}, 5, "absent/");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--report", "absent/report.json"}, 5, "absent/");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "-o", "absent/out.npz", "--profile", "trace.json"}, 5, "absent/");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--report", "r.html", "--write-config", "/dev/full"}, 5, "/dev/full");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--calibrate", "in.npz", "--save-ranges", "/dev/full"}, 5, "/dev/full");
  std::filesystem::create_symlink("/dev/full", folder_ / "full.json");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "-o", "out.npz", "--profile", "full.json"}, 5, "full.json");
  std::filesystem::remove(folder_ / "full.json");
}

TEST_F(FailingTest, OutputsThatAreInputs) {
  std::filesystem::create_symlink("mlp.pdmodel", folder_ / "link.pdmodel");
  for (const char* output : {"mlp.pdmodel", "./mlp.pdmodel", "link.pdmodel"}) {
    ExpectFailure({"convert", "mlp.pdmodel", "-o", output}, 2, output);
    ExpectFailure({"strip", "mlp.pdmodel", "-o", output}, 2, output);
    ExpectFailure({"opt", "mlp.pdmodel", "--passes=dedup", "-o", output}, 2, output);
  }
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--params-output", "mlp.pdiparams"}, 2, "mlp.pdiparams");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--params-output", "o.pdmodel"}, 2, "o.pdmodel");
  // Both formats keep their weights in mlp.safetensors.
  Ok({"convert", "mlp.pdmodel", "-o", "mlp.ampc", "--level", "O0"});
  std::filesystem::rename(folder_ / "mlp.prog", folder_ / "text.prog");
  ExpectFailure({"convert", "mlp.ampc", "-o", "mlp.prog"}, 2, "mlp.safetensors");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--report", "low.json", "--params-output", "low.json"}, 2, "low.json");
  ExpectFailure({"strip", "mlp.ampc", "-o", "o.pdmodel", "--weights", "o.pdmodel"}, 2, "o.pdmodel");
  ExpectFailure({"dot", "mlp.pdmodel", "-o", "mlp.pdmodel"}, 2, "mlp.pdmodel");
  ExpectFailure({"run", "mlp.pdmodel", "--input", "in.npz", "-o", "in.npz"}, 2, "in.npz");
}

TEST_F(FailingTest, WeightsBeyondTheRangeOnDemand) {
  std::string text = kMlp;
  text.replace(text.find("0.7"), 3, "1e6");
  MakeModel("large", text);
  ExpectFailure({"convert", "large.pdmodel", "-o", "o.pdmodel", "--on-overflow", "error"}, 3, "'w1'");
}

TEST_F(FailingTest, IllFormedProgramsAreNotConverted) {
  Write("ill.prog", kIllFormed);
  ExpectFailure({"verify", "ill.prog"}, 1, "relu");
  ExpectFailure({"convert", "ill.prog", "-o", "o.pdmodel"}, 3, "ill.prog");
  ExpectFailure({"opt", "ill.prog", "--passes=dedup", "-o", "o.pdmodel"}, 3, "ill.prog");
  ExpectFailure({"run", "ill.prog", "--input", "in.npz"}, 3, "ill.prog");
}

TEST_F(FailingTest, ReportsHaveTwoExtensions) {
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--report", "report.txt"}, 2, ".json or .html");
}

}  // namespace
}  // namespace ampc::testing
