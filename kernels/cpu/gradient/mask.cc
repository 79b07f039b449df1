// Gradients that pass where a mask says so: dropout and where.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/gradient_rows.h"
#include "kernels/parallel.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 14;

// out = factor * g where the mask is not 0 (or is 0 if `inverse`), else 0.
void Mask(const float* g, const uint8_t* mask, bool inverse, float factor, float* out, int64_t n) {
  simd::MaskRow(g, mask, inverse, factor, out, n);
}
void Mask(const double* g, const uint8_t* mask, bool inverse, double factor, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = (mask[i] != 0) != inverse ? g[i] * factor : 0;
}

struct Part {
  bool inverse = false;
  double factor = 1;
  int out = -1;
};

template <typename T>
void Run(const Part& part, const void* g, const void* mask, const KernelArgs& args, int64_t n) {
  T* out = static_cast<T*>(args.outputs[part.out]);
  if (out == nullptr) return;
  ParallelFor(args.threads, n, kGrain, [&](int64_t first, int64_t last) {
    Mask(static_cast<const T*>(g) + first, static_cast<const uint8_t*>(mask) + first, part.inverse, static_cast<T>(part.factor),
         out + first, last - first);
  });
}

std::unique_ptr<Kernel> MakeParts(const SpecView& view, int mask, std::vector<Part> parts) {
  const int g = view.In("Out@GRAD");
  const TensorDesc& from = view.spec().inputs[g];
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  if (!parts.empty()) traits.in_place_input = g;
  return MakeLambdaKernel(std::move(traits),
                          [=, n = from.NumElements(), narrow = StorageType(from.dtype) == DType::kF32](const KernelArgs& args) {
                            for (size_t i = parts.size(); i-- > 0;) {  // the first result may lie in the memory of g
                              const auto run = narrow ? &Run<float> : &Run<double>;
                              run(parts[i], args.inputs[g], args.inputs[mask], args, n);
                            }
                            return absl::OkStatus();
                          });
}

absl::Status Check(const SpecView& view, int mask, std::initializer_list<DType> mask_types) {
  if (mask < 0) return view.Unsupported("needs the Mask of the forward op, which has none");
  const TensorDesc& g = view.InDesc("Out@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(g.dtype, {DType::kF32, DType::kF64}));
  AMPC_RETURN_IF_ERROR(view.CheckType(view.spec().inputs[mask].dtype, mask_types));
  if (view.spec().inputs[mask].NumElements() != g.NumElements()) return view.Internal("the mask has another size than the gradient");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWhere(const KernelSpec& spec) {
  const SpecView view(spec);
  const int mask = view.In("Condition");
  AMPC_RETURN_IF_ERROR(Check(view, mask, {DType::kBool}));
  std::vector<Part> parts;
  if (const int out = view.Out("X@GRAD"); out >= 0) parts.push_back({.inverse = false, .out = out});
  if (const int out = view.Out("Y@GRAD"); out >= 0) parts.push_back({.inverse = true, .out = out});
  return MakeParts(view, mask, std::move(parts));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDropout(const KernelSpec& spec) {
  const SpecView view(spec);
  const int mask = view.In("Mask");
  AMPC_RETURN_IF_ERROR(Check(view, mask, {DType::kU8}));
  std::vector<Part> parts;
  if (const int out = view.Out("X@GRAD"); out >= 0) parts.push_back({.factor = DropoutFactor(view.op()), .out = out});
  return MakeParts(view, mask, std::move(parts));
}

}  // namespace

absl::Status RegisterMaskGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"dropout_grad", &MakeDropout, types}));
  return registry->Add({"where_grad", &MakeWhere, types});
}

}  // namespace ampc
