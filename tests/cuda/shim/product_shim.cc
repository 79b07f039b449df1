#include <library_types.h>

#include <memory>

#include "kernels/device/emulated/emulated_matmul.h"
#include "kernels/device/matmul_library.h"
#include "tests/cuda/shim/native_stream.h"
#include "tests/cuda/shim/product.h"

namespace {

ampc::DType TypeOf(int type) {
  return type == CUDA_R_16F    ? ampc::DType::kF16
         : type == CUDA_R_16BF ? ampc::DType::kBF16
         : type == CUDA_R_64F  ? ampc::DType::kF64
                               : ampc::DType::kF32;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int AmpcShimMultiply(const ampc::testing::ShimProduct* p) {
  ampc::MatmulDesc desc;
  desc.transpose_a = p->transpose_a;
  desc.transpose_b = p->transpose_b;
  desc.m = p->m;
  desc.n = p->n;
  desc.k = p->k;
  desc.lda = p->lda;
  desc.ldb = p->ldb;
  desc.ldd = p->ldd;
  desc.batch = p->batch;
  desc.stride_a = p->stride_a;
  desc.stride_b = p->stride_b;
  desc.stride_d = p->stride_d;
  desc.type_ab = TypeOf(p->type_ab);
  desc.type_d = TypeOf(p->type_d);
  desc.alignment = 1;
  const bool twice = desc.type_ab == ampc::DType::kF64;
  const auto number = [twice](const void* at) {
    return twice ? *static_cast<const double*>(at) : static_cast<double>(*static_cast<const float*>(at));
  };
  desc.alpha = number(p->alpha);
  desc.beta = number(p->beta);
  static const auto* const library = new std::unique_ptr<ampc::MatmulLibrary>(ampc::NewEmulatedMatmul());
  const auto plan = (*library)->Plan(desc, p->workspace_bytes);
  if (!plan.ok()) return 1;
  ampc::testing::NativeStream stream(p->stream);
  ampc::MatmulArgs args;
  args.a = p->a;
  args.b = p->b;
  args.c = p->c;
  args.d = p->d;
  args.workspace = p->workspace;
  return (*plan)->Run(stream, args).ok() ? 0 : 1;
}
