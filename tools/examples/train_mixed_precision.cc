// Trains the example network of the README in mixed precision on random images: the smallest program that trains.
//
//   train_mixed_precision [STEPS]
#include <cstdio>
#include <cstdlib>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/builder.h"
#include "graph/initializer.h"
#include "runtime/train/decorate.h"
#include "runtime/train/trainer.h"

namespace {

// Images of noise whose class is the brightest of ten pixels.
absl::StatusOr<ampc::TensorMap> Batch(int step) {
  ampc::TensorMap feeds;
  AMPC_ASSIGN_OR_RETURN(feeds["x"], ampc::InitialValues(ampc::Initializer::Normal(0, 1), ampc::DType::kF32, {64, 1, 28, 28}, step, "x"));
  AMPC_ASSIGN_OR_RETURN(feeds["y"], ampc::HostTensor::Create(ampc::DType::kI64, {64, 1}));
  for (int i = 0; i < 64; ++i) {
    float* image = feeds["x"].mutable_values<float>().data() + i * 28 * 28;
    int64_t& label = feeds["y"].mutable_values<int64_t>()[i] = (i + step) % 10;
    for (int pixel = 0; pixel < 60; ++pixel) image[60 * label + pixel] += 1;
  }
  return feeds;
}

absl::Status Train(int steps) {
  // [README
  ampc::ProgramBuilder b;
  auto data = b.Feed("x", ampc::DType::kF32, {-1, 1, 28, 28});
  auto h = b.Conv2D(data, {.filters = 6, .kernel = 3, .bias = false});
  ampc::Value loss;
  {
    ampc::Fp16Guard guard(b);  // only these ops may become fp16 under O2
    h = b.BatchNorm(h, {.act = "relu"});
    h = b.Pool2D(h, {.type = "max", .size = 2, .stride = 2});
    h = b.FullyConnected(h, 10);
    loss = b.Mean(b.SoftmaxWithCrossEntropy(h, b.Feed("y", ampc::DType::kI64, {-1, 1})));
  }
  b.Fetch(loss);
  ampc::Program test_program = b.CloneForTest();
  auto opt = ampc::amp::Decorate(ampc::Momentum({.lr = 0.01, .momentum = 0.9, .multi_precision = true}),
                                 {.init_loss_scaling = 32768, .use_dynamic_loss_scaling = true, .use_pure_fp16 = true});
  AMPC_RETURN_IF_ERROR(opt->Minimize(b, loss));
  ampc::TrainerOptions trainer_options = {.device = "cpu", .threads = 2};
  AMPC_ASSIGN_OR_RETURN(ampc::Trainer trainer, ampc::Trainer::Create(b.Build(), trainer_options));
  AMPC_RETURN_IF_ERROR(opt->AmpInit(trainer_options, trainer.scope(), {.test_program = &test_program, .use_fp16_test = true}));
  // README]
  AMPC_RETURN_IF_ERROR(trainer.SetTestProgram(std::move(test_program)));
  for (int step = 0; step < steps; ++step) {
    AMPC_ASSIGN_OR_RETURN(const ampc::TensorMap feeds, Batch(step));
    AMPC_ASSIGN_OR_RETURN(const ampc::TensorMap out, trainer.Step(feeds));
    if (step % 10 == 0)
      std::printf("step %d: loss %.4f, scale %g\n", step, out.begin()->second.values<float>()[0], trainer.scalers()[0].scale);
  }
  AMPC_ASSIGN_OR_RETURN(const ampc::TensorMap feeds, Batch(steps));
  AMPC_ASSIGN_OR_RETURN(const ampc::TensorMap out, trainer.Test(feeds));
  std::printf("test: loss %.4f\n", out.begin()->second.values<float>()[0]);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status = Train(argc > 1 ? std::atoi(argv[1]) : 100);
  if (!status.ok()) std::fprintf(stderr, "train_mixed_precision: %s\n", std::string(status.message()).c_str());
  return static_cast<int>(ampc::ExitCodeOf(status));
}
