// convert --runtime.
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

class RuntimeTest : public CliTest {
 protected:
  void SetUp() override { Write("small.onnx", ReadFile("tests/golden/onnx/small.onnx")); }
};

TEST_F(RuntimeTest, KeepsFp32WhatTheRuntimeHasNoKernelFor) {
  const Outcome outcome =
      Ampc({"convert", "small.onnx", "-o", "low.onnx", "--dtype", "bf16", "--runtime", "ort-cpu", "--report", "r.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(Read("r.json"), HasSubstr(R"("rule": "runtime", "reason": "ONNX Runtime's CPU provider has no bf16 kernel of Relu-14)"));
  EXPECT_THAT(Read("r.json"), HasSubstr(R"("target": "cpu")"));
  EXPECT_EQ(Read("low.onnx"), Read("small.onnx")) << "nothing but products and what follows them";
  EXPECT_THAT(Ok({"convert", "small.onnx", "-o", "low.onnx", "--dtype", "bf16", "--runtime", "openvino"}), HasSubstr("predicted on "));
  const std::string model = Read("low.onnx");
  Ok({"convert", "low.onnx", "-o", "again.onnx"});
  EXPECT_EQ(Read("again.onnx"), model);
  ExpectFailure({"convert", "low.onnx", "-o", "again.onnx", "--runtime", "ort-cpu"}, 2, "was converted with --runtime=openvino");
}

TEST_F(RuntimeTest, SaysWhatTheRuntimeDoesItself) {
  const Outcome cpu = Ampc({"convert", "small.onnx", "-o", "low.onnx", "--runtime", "ort-cpu"});
  EXPECT_EQ(cpu.code, 0);
  EXPECT_THAT(cpu.err, HasSubstr("ONNX Runtime's CPU provider has no f16 kernels for "));
  EXPECT_THAT(cpu.err, HasSubstr("computes these in fp32, with casts of its own"));
  const Outcome rt = Ampc({"convert", "small.onnx", "-o", "low.onnx", "--runtime", "tensorrt"});
  EXPECT_EQ(rt.code, 0);
  EXPECT_THAT(rt.err, HasSubstr("not verified"));
  EXPECT_THAT(Ampc({"convert", "small.onnx", "-o", "low.onnx", "--runtime", "ort-cuda"}).err,
              HasSubstr("runtime ort-cuda: by documents of onnxruntime, not verified"));
}

TEST_F(RuntimeTest, SaysWhatContradictsIt) {
  MakeModel("mlp", kMlp);
  ExpectFailure({"convert", "small.onnx", "-o", "o.onnx", "--runtime", "ort-cpu", "--target", "cuda"}, 2,
                "--target cuda contradicts --runtime ort-cpu, which is for cpu");
  ExpectFailure({"convert", "small.onnx", "-o", "o.onnx", "--runtime", "tensorrt", "--target", "cpu"}, 2, "contradicts --runtime tensorrt");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--runtime", "ort-cpu"}, 2, "reads models of ONNX, mlp.pdmodel is none");
  ExpectFailure({"convert", "small.onnx", "-o", "o.onnx", "--runtime", "paddle-gpu"}, 2, "reads models of Paddle, small.onnx is none");
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--runtime", "paddle-gpu", "--compat", "paddle-2.6"}, 2,
                "contradicts --compat");
  ExpectFailure({"convert", "small.onnx", "-o", "o.onnx", "--runtime", "ort"}, 2, "--runtime");
  EXPECT_EQ(Ampc({"convert", "small.onnx", "-o", "o.onnx", "--runtime", "tensorrt", "--target", "cuda:7.5"}).code, 0);
}

}  // namespace
}  // namespace ampc::testing
