#include "kernels/device/emulated/emulated_matmul.h"

#include <functional>

#include "graph/base/error.h"
#include "kernels/cuda/launch/launch_host.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/device/device.h"

namespace ampc {
namespace {

double Read(const void* data, DType type, int64_t i) {
  double value = 0;
  cuda::VisitFloat(type, [&](auto tag) {
    value = static_cast<double>(cuda::Load(static_cast<const typename decltype(tag)::Type*>(data)[i]));
    return 0;
  });
  return value;
}

void Write(void* data, DType type, int64_t i, double value) {
  cuda::VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    cuda::Store(static_cast<T*>(data)[i], static_cast<cuda::ComputeType<T>>(value));
    return 0;
  });
}

void Multiply(const MatmulDesc& d, const MatmulArgs& args) {
  for (int64_t b = 0; b < d.batch; ++b) {
    for (int64_t j = 0; j < d.n; ++j) {
      for (int64_t i = 0; i < d.m; ++i) {
        double sum = 0;
        for (int64_t p = 0; p < d.k; ++p) {
          const int64_t a = b * d.stride_a + (d.transpose_a ? p + i * d.lda : i + p * d.lda);
          const int64_t at_b = b * d.stride_b + (d.transpose_b ? j + p * d.ldb : p + j * d.ldb);
          sum += Read(args.a, d.type_ab, a) * Read(args.b, d.type_ab, at_b);
        }
        const int64_t at = b * d.stride_d + i + j * d.ldd;
        sum *= d.alpha;
        if (d.beta != 0) sum += d.beta * Read(args.d, d.type_d, at);
        Write(args.d, d.type_d, at, sum);
      }
    }
  }
}

class EmulatedMatmulPlan : public MatmulPlan {
 public:
  explicit EmulatedMatmulPlan(const MatmulDesc& desc) : desc_(desc) {}
  int64_t workspace_bytes() const override { return 0; }
  absl::Status Run(Stream& stream, const MatmulArgs& args) const override {
    cuda::EnqueueEmulated(stream.native(), [desc = desc_, args] { Multiply(desc, args); });
    return absl::OkStatus();
  }
  std::string implementation() const override { return "emulated:matmul"; }

 private:
  MatmulDesc desc_;
};

class EmulatedMatmul : public MatmulLibrary {
 public:
  absl::StatusOr<std::shared_ptr<const MatmulPlan>> Plan(const MatmulDesc& desc, int64_t) override {
    if (desc.epilogue != MatmulEpilogue::kNone) return UnsupportedError("emulated device: products with an epilogue are not emulated");
    return std::make_shared<const EmulatedMatmulPlan>(desc);
  }
};

}  // namespace

std::unique_ptr<MatmulLibrary> NewEmulatedMatmul() { return std::make_unique<EmulatedMatmul>(); }

}  // namespace ampc
