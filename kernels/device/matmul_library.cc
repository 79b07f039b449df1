#include "kernels/device/matmul_library.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc {

EpilogueTraits TraitsOf(MatmulEpilogue epilogue) {
  using enum EpilogueTraits::Function;
  switch (epilogue) {
    case MatmulEpilogue::kNone: return {};
    case MatmulEpilogue::kBias: return {.reads_bias = true};
    case MatmulEpilogue::kRelu: return {.function = kRelu};
    case MatmulEpilogue::kReluBias: return {.reads_bias = true, .function = kRelu};
    case MatmulEpilogue::kGelu: return {.function = kGelu};
    case MatmulEpilogue::kGeluBias: return {.reads_bias = true, .function = kGelu};
    case MatmulEpilogue::kReluAux: return {.aux = true, .function = kRelu};
    case MatmulEpilogue::kReluAuxBias: return {.reads_bias = true, .aux = true, .function = kRelu};
    case MatmulEpilogue::kGeluAux: return {.aux = true, .function = kGelu};
    case MatmulEpilogue::kGeluAuxBias: return {.reads_bias = true, .aux = true, .function = kGelu};
    case MatmulEpilogue::kDRelu: return {.aux = true, .gradient = true, .function = kRelu};
    case MatmulEpilogue::kDGelu: return {.aux = true, .gradient = true, .function = kGelu};
    case MatmulEpilogue::kBiasGradA:
    case MatmulEpilogue::kBiasGradB: return {.writes_bias = true};
  }
  return {};
}

absl::Status CheckMatmul(const MatmulDesc& d) {
  const auto refuse = [](auto... why) { return InternalError(absl::StrCat("a matrix product ", why...)); };
  if (d.m < 1 || d.n < 1 || d.k < 1 || d.batch < 1) return refuse("of size ", d.m, " x ", d.n, " x ", d.k, ", ", d.batch, " times");
  if (d.lda < (d.transpose_a ? d.k : d.m)) return refuse("has a leading dimension of A of ", d.lda);
  if (d.ldb < (d.transpose_b ? d.n : d.k)) return refuse("has a leading dimension of B of ", d.ldb);
  if (d.ldd < d.m) return refuse("has a leading dimension of D of ", d.ldd);
  if (d.stride_a < 0 || d.stride_b < 0 || d.stride_d < (d.batch > 1 ? 1 : 0)) return refuse("has strides that are not positive");
  const bool half = d.type_ab == DType::kF16 || d.type_ab == DType::kBF16, twice = d.type_ab == DType::kF64;
  if (!half && !twice && d.type_ab != DType::kF32) return refuse("of ", Name(d.type_ab));
  if (d.type_d != d.type_ab && !(half && d.type_d == DType::kF32)) return refuse("of ", Name(d.type_ab), " gives ", Name(d.type_d));
  if (d.alignment < 1 || (d.alignment & (d.alignment - 1)) != 0) return refuse("has addresses aligned to ", d.alignment);
  if (d.epilogue == MatmulEpilogue::kNone) return absl::OkStatus();
  const EpilogueTraits traits = TraitsOf(d.epilogue);
  if (twice) return refuse("of f64 has an epilogue");
  if (d.batch > 1 && (traits.aux || traits.writes_bias)) return refuse("has an epilogue that keeps or sums, and a batch");
  const int64_t step = traits.function == EpilogueTraits::kRelu ? 128 : 8;
  if (traits.aux && (d.aux_ld < d.m || d.aux_ld % step != 0)) return refuse("has a leading dimension of aux of ", d.aux_ld);
  return absl::OkStatus();
}

}  // namespace ampc
