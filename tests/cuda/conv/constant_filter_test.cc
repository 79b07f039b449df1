// A constant filter or bias, which a convolution keeps as its library takes it, gives the bits of the same one given with each run.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/host_tensor.h"
#include "graph/op_registry.h"
#include "graph/program.h"
#include "kernels/device/allocator.h"
#include "kernels/device/emulated/emulated_device.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "tests/testlib/status.h"

namespace ampc::cuda {
absl::Status RegisterConv(KernelRegistry* registry);
}

namespace ampc::testing {
namespace {

struct Case {
  std::string op;
  Dims x, w, y;
  int64_t groups = 1;
  DType type = DType::kF32;
  Layout layout = Layout::kPlain;
};

HostTensor Values(const Dims& dims, int seed) {
  HostTensor t = *HostTensor::Create(DType::kF32, dims);
  auto values = t.mutable_values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 37 + seed * 11) % 64) / 16 - 2;  // exact in every type
  return t;
}

std::vector<char> AsDeclared(const HostTensor& t, DType type) {
  std::vector<char> bytes(t.values<float>().size() * SizeOf(type));
  for (size_t i = 0; i < t.values<float>().size(); ++i) {
    const float v = t.values<float>()[i];
    const Half half(v);
    const BFloat16 brain(v);
    const void* const from = type == DType::kF16    ? static_cast<const void*>(&half)
                             : type == DType::kBF16 ? static_cast<const void*>(&brain)
                                                    : &v;
    std::memcpy(bytes.data() + i * SizeOf(type), from, SizeOf(type));
  }
  return bytes;
}

class ConstantFilter : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    ASSERT_OK(cuda::RegisterConv(&kernels_));
    device_ = NewEmulatedDevice(0);
    ASSERT_OK_AND_ASSIGN(stream_, device_->NewStream());
    const Case& c = GetParam();
    Block& block = program_.main();
    std::unique_ptr<Op> op = block.NewOp(Ops().Find(c.op));
    const auto var = [&](const char* name, const Dims& dims, DType type) {
      return block.AddVar(name, VarKind::kFeed, TensorType(type, dims));
    };
    op->SetInputs(op->def().InputSlot("Input"), {var("x", c.x, c.type)});
    op->SetInputs(op->def().InputSlot("Filter"), {var("w", c.w, c.type)});
    op->SetInputs(op->def().InputSlot("Bias"), {var("b", {c.y[1]}, DType::kF32)});
    op->SetOutputs(op->def().OutputSlot("Output"), {block.AddVar("y", VarKind::kTemp, TensorType(c.type, c.y))});
    op->SetAttr("groups", c.groups);
    spec_.op = block.Append(std::move(op));
    spec_.inputs = {{c.type, c.x, c.layout}, {c.type, c.w}, {DType::kF32, {c.y[1]}}};
    spec_.outputs = {{c.type, c.y, c.layout}};
    spec_.device = device_.get();
  }

  absl::StatusOr<std::vector<char>> Run(std::vector<const HostTensor*> values, std::vector<bool>* consumed) {
    spec_.values = std::move(values);
    absl::StatusOr<std::unique_ptr<Kernel>> kernel = MakeKernel(*kernels_.Find(spec_.op->type()), spec_);
    if (!kernel.ok()) return kernel.status();
    std::vector<DeviceBuffer> memory;
    const auto place = [&](int64_t bytes, const void* from) -> void* {
      memory.push_back(*device_->allocator().Allocate(bytes, *stream_, "test"));
      if (from != nullptr) stream_->CopyToDevice(memory.back().data(), from, bytes).IgnoreError();
      return memory.back().data();
    };
    std::vector<const void*> in;
    for (size_t i = 0; i < operands_.size(); ++i) {
      consumed->push_back((*kernel)->consumes(static_cast<int>(i)));
      const std::vector<char> bytes = AsDeclared(operands_[i], spec_.inputs[i].dtype);
      in.push_back(consumed->back() ? nullptr : place(static_cast<int64_t>(bytes.size()), bytes.data()));
      if (const absl::Status status = stream_->Synchronize(); !status.ok()) return status;
    }
    std::vector<char> result(static_cast<size_t>(spec_.outputs[0].NumElements()) * SizeOf(spec_.outputs[0].dtype));
    void* const out = place(static_cast<int64_t>(result.size()), nullptr);
    void* const workspace = place((*kernel)->workspace_bytes() + 1, nullptr);
    absl::Status status = (*kernel)->Run({in, absl::MakeConstSpan(&out, 1), workspace, 1, stream_.get()});
    if (status.ok()) status = stream_->CopyToHost(result.data(), out, static_cast<int64_t>(result.size()));
    if (status.ok()) status = stream_->Synchronize();
    if (!status.ok()) return status;
    return result;
  }

  KernelRegistry kernels_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  Program program_;
  KernelSpec spec_;
  std::vector<HostTensor> operands_ = {Values(GetParam().x, 1), Values(GetParam().w, 2), Values({GetParam().y[1]}, 3)};
};

TEST_P(ConstantFilter, GivesTheBitsOfOneGivenWithEachRun) {
  std::vector<bool> none, some;
  ASSERT_OK_AND_ASSIGN(const std::vector<char> given, Run({nullptr, nullptr, nullptr}, &none));
  ASSERT_OK_AND_ASSIGN(const std::vector<char> constant, Run({nullptr, &operands_[1], &operands_[2]}, &some));
  EXPECT_EQ(given, constant);
  EXPECT_EQ(none, std::vector<bool>({false, false, false}));
  const bool low = GetParam().type != DType::kF32, library = GetParam().groups == 1;
  EXPECT_EQ(some, std::vector<bool>({false, GetParam().layout == Layout::kChannelsLast, library && low && GetParam().op == "conv2d"}));
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
      cases.push_back({"conv2d", {2, 5, 6, 7}, {4, 5, 3, 2}, {2, 4, 4, 6}, 1, type, layout});
      cases.push_back({"conv2d_transpose", {2, 5, 4, 3}, {5, 4, 3, 2}, {2, 4, 6, 4}, 1, type, layout});
      cases.push_back({"depthwise_conv2d", {2, 16, 6, 7}, {16, 1, 3, 2}, {2, 16, 4, 6}, 16, type, layout});
    }
  }
  return cases;
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  return info.param.op + "_" + std::string(Name(info.param.type)) + (info.param.layout == Layout::kPlain ? "_plain" : "_channels_last");
}

INSTANTIATE_TEST_SUITE_P(Conv, ConstantFilter, ::testing::ValuesIn(Cases()), NameOf);

}  // namespace
}  // namespace ampc::testing
