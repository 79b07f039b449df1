#include "kernels/device/emulated/emulated_matmul.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/launch/launch_host.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/device/device.h"

namespace ampc {
namespace {

using cuda::ComputeType;
using cuda::TypeTag;

constexpr int64_t kWorkspaceBytes = 512;  // not used, but a caller that gives none is found

// The type in which a product of type T is scaled.
template <class T>
using Scalar = std::conditional_t<std::is_same_v<T, double>, double, float>;

constexpr int64_t kTile = 32;  // rows of a product that are summed together

// A factor as `rows` lines of k numbers. `along_k`: so it lies in memory, but for the leading dimension.
template <class T>
std::vector<double> Lines(const T* x, bool along_k, int64_t rows, int64_t k, int64_t ld) {
  std::vector<double> lines(static_cast<size_t>(rows * k));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t p = 0; p < k; ++p) lines[i * k + p] = cuda::Load(along_k ? x[p + i * ld] : x[i + p * ld]);
  }
  return lines;
}

// kTile lines side by side: element p * kTile + i is number p of line first + i; zeros where there are no more lines.
std::vector<double> Panel(const std::vector<double>& lines, int64_t rows, int64_t k, int64_t first) {
  std::vector<double> panel(static_cast<size_t>(k * kTile));
  for (int64_t i = 0; i < std::min(kTile, rows - first); ++i) {
    for (int64_t p = 0; p < k; ++p) panel[p * kTile + i] = lines[(first + i) * k + p];
  }
  return panel;
}

// sums[i] = the sum over p of panel(i, p) * line[p], four at a time. The loops over a tile have a known length: they become vector code.
void SumProducts(const double* panel, const double* line, int64_t k, double* sums) {
  std::fill_n(sums, kTile, 0.0);
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const double* const a = panel + p * kTile;
    const double b0 = line[p], b1 = line[p + 1], b2 = line[p + 2], b3 = line[p + 3];
    for (int64_t i = 0; i < kTile; ++i) sums[i] += (a[i] * b0 + a[i + kTile] * b1) + (a[i + 2 * kTile] * b2 + a[i + 3 * kTile] * b3);
  }
  for (; p < k; ++p) {
    for (int64_t i = 0; i < kTile; ++i) sums[i] += panel[p * kTile + i] * line[p];
  }
}

constexpr double kRootOfTwoOverPi = 0.79788456080286536;

double Gelu(double x) { return 0.5 * x * (1 + std::tanh(kRootOfTwoOverPi * (x + 0.044715 * x * x * x))); }

double GeluDerivative(double x) {
  const double t = std::tanh(kRootOfTwoOverPi * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kRootOfTwoOverPi * (1 + 3 * 0.044715 * x * x);
}

// The epilogue of one element of D at (i, j).
template <class TD>
Scalar<TD> Finish(const MatmulDesc& d, const EpilogueTraits& traits, const MatmulArgs& args, int64_t i, int64_t j, Scalar<TD> value) {
  const int64_t at = i + j * d.aux_ld;
  TD* const gelu = static_cast<TD*>(args.aux);
  uint8_t* const mask = static_cast<uint8_t*>(args.aux);
  if (traits.reads_bias) value += cuda::Load(static_cast<const TD*>(args.bias)[i]);
  switch (traits.function) {
    case EpilogueTraits::kIdentity: return value;
    case EpilogueTraits::kRelu: {
      if (traits.gradient) return (mask[at / 8] >> (at % 8) & 1) != 0 ? value : Scalar<TD>(0);
      if (traits.aux) mask[at / 8] = static_cast<uint8_t>((mask[at / 8] & ~(1 << (at % 8))) | ((value > 0 ? 1 : 0) << (at % 8)));
      return value > 0 ? value : Scalar<TD>(0);
    }
    case EpilogueTraits::kGelu: {
      if (traits.gradient) return static_cast<Scalar<TD>>(value * GeluDerivative(cuda::Load(gelu[at])));
      if (traits.aux) cuda::Store(gelu[at], value);
      return static_cast<Scalar<TD>>(Gelu(value));
    }
  }
  return value;
}

template <class TD>
void SumLines(const std::vector<double>& lines, int64_t rows, int64_t k, void* to) {
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t p = 0; p < k; ++p) sum += lines[i * k + p];
    cuda::Store(static_cast<TD*>(to)[i], static_cast<ComputeType<TD>>(sum));
  }
}

template <class T, class TD>
void MultiplyOne(const MatmulDesc& d, const MatmulArgs& args, const T* a, const T* b, const TD* c, TD* to) {
  using S = Scalar<TD>;
  const EpilogueTraits traits = TraitsOf(d.epilogue);
  const std::vector<double> rows = Lines(a, d.transpose_a, d.m, d.k, d.lda), cols = Lines(b, !d.transpose_b, d.n, d.k, d.ldb);
  double sums[kTile];
  for (int64_t first = 0; first < d.m; first += kTile) {
    const std::vector<double> panel = Panel(rows, d.m, d.k, first);
    const int64_t last = std::min(d.m, first + kTile);
    for (int64_t j = 0; j < d.n; ++j) {
      SumProducts(panel.data(), cols.data() + j * d.k, d.k, sums);
      for (int64_t i = first; i < last; ++i) {
        S value = static_cast<S>(d.alpha) * static_cast<S>(sums[i - first]);
        if (d.beta != 0) value += static_cast<S>(d.beta) * cuda::Load(c[i + j * d.ldd]);
        cuda::Store(to[i + j * d.ldd], Finish<TD>(d, traits, args, i, j, value));
      }
    }
  }
  if (d.epilogue == MatmulEpilogue::kBiasGradA) SumLines<TD>(rows, d.m, d.k, args.bias);
  if (d.epilogue == MatmulEpilogue::kBiasGradB) SumLines<TD>(cols, d.n, d.k, args.bias);
}

template <class T, class TD>
void Multiply(const MatmulDesc& d, const MatmulArgs& args) {
  for (int64_t i = 0; i < d.batch; ++i) {
    TD* const to = static_cast<TD*>(args.d) + i * d.stride_d;
    const TD* const c = args.c == nullptr ? to : static_cast<const TD*>(args.c) + i * d.stride_d;
    MultiplyOne(d, args, static_cast<const T*>(args.a) + i * d.stride_a, static_cast<const T*>(args.b) + i * d.stride_b, c, to);
  }
}

void MultiplyAs(const MatmulDesc& d, const MatmulArgs& args) {
  cuda::VisitFloat(d.type_ab, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (d.type_ab == d.type_d) {
      Multiply<T, T>(d, args);
    } else {
      Multiply<T, float>(d, args);
    }
    return 0;
  });
}

absl::Status CheckAddresses(const MatmulDesc& d, const MatmulArgs& args) {
  const EpilogueTraits traits = TraitsOf(d.epilogue);
  const auto aligned = [](const void* p, int64_t to) { return reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(to) == 0; };
  for (const void* p : {args.a, args.b, args.c, static_cast<const void*>(args.d), static_cast<const void*>(args.bias)}) {
    if (!aligned(p, d.alignment)) return InternalError(absl::StrCat("an address of a matrix product is not aligned to ", d.alignment));
  }
  if (args.a == nullptr || args.b == nullptr || args.d == nullptr) return InternalError("a matrix product without a matrix");
  if ((traits.reads_bias || traits.writes_bias) != (args.bias != nullptr)) return InternalError("bias and epilogue do not agree");
  if (traits.aux != (args.aux != nullptr) || !aligned(args.aux, 16)) return InternalError("aux and epilogue do not agree");
  if (args.workspace == nullptr || !aligned(args.workspace, 256)) return InternalError("a matrix product without an aligned workspace");
  return absl::OkStatus();
}

class EmulatedMatmulPlan : public MatmulPlan {
 public:
  explicit EmulatedMatmulPlan(const MatmulDesc& desc) : desc_(desc) {}
  int64_t workspace_bytes() const override { return kWorkspaceBytes; }
  absl::Status Run(Stream& stream, const MatmulArgs& args) const override {
    AMPC_RETURN_IF_ERROR(CheckAddresses(desc_, args));
    cuda::EnqueueEmulated(stream.native(), [desc = desc_, args] {
      std::memset(args.workspace, 0xa5, kWorkspaceBytes);
      MultiplyAs(desc, args);
    });
    return absl::OkStatus();
  }
  std::string implementation() const override { return "emulated:matmul"; }

 private:
  MatmulDesc desc_;
};

class EmulatedMatmul : public MatmulLibrary {
 public:
  absl::StatusOr<std::shared_ptr<const MatmulPlan>> Plan(const MatmulDesc& desc, int64_t workspace_limit) override {
    AMPC_RETURN_IF_ERROR(CheckMatmul(desc));
    if (workspace_limit < kWorkspaceBytes) return UnsupportedError("emulated device: a matrix product needs a workspace");
    return std::make_shared<const EmulatedMatmulPlan>(desc);
  }
};

}  // namespace

std::unique_ptr<MatmulLibrary> NewEmulatedMatmul() { return std::make_unique<EmulatedMatmul>(); }

}  // namespace ampc
