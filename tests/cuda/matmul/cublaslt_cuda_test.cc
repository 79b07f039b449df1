// cuBLASLt on cuda:0 against the emulated device: every epilogue, transposition and type that kernels may ask for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "graph/base/bfloat16.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/status_macros.h"
#include "kernels/device/allocator.h"
#include "kernels/device/device.h"
#include "kernels/device/emulated/emulated_device.h"
#include "kernels/device/matmul_library.h"
#include "kernels/device/open_device.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using Bytes = std::vector<char>;

template <typename T>
Bytes Numbers(int64_t n, int64_t seed) {
  Bytes bytes(static_cast<size_t>(n) * sizeof(T));
  for (int64_t i = 0; i < n; ++i) {
    const T value = static_cast<T>(static_cast<float>((i * 2654435761 + seed * 40503) % 257 - 128) / 128.0f);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

Bytes Numbers(DType type, int64_t n, int64_t seed) {
  switch (type) {
    case DType::kF16: return Numbers<Half>(n, seed);
    case DType::kBF16: return Numbers<BFloat16>(n, seed);
    case DType::kF64: return Numbers<double>(n, seed);
    default: return Numbers<float>(n, seed);
  }
}

double At(const Bytes& bytes, DType type, size_t i) {
  const auto read = [&](auto value) {
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    return value;
  };
  switch (type) {
    case DType::kF16: return static_cast<float>(read(Half()));
    case DType::kBF16: return static_cast<float>(read(BFloat16()));
    case DType::kF64: return read(0.0);
    default: return read(0.0f);
  }
}

struct Operands {
  Bytes a, b, c, bias, aux;
};

struct Results {
  Bytes d, bias, aux;
};

absl::StatusOr<Results> Product(Device& device, const MatmulDesc& desc, const Operands& operands) {
  AMPC_ASSIGN_OR_RETURN(MatmulLibrary * library, device.matmul());
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const MatmulPlan> plan, library->Plan(desc, int64_t{32} << 20));
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream());
  std::vector<DeviceBuffer> buffers;
  const auto upload = [&](const Bytes& bytes) -> absl::StatusOr<void*> {
    if (bytes.empty()) return nullptr;
    AMPC_ASSIGN_OR_RETURN(DeviceBuffer buffer, device.allocator().Allocate(static_cast<int64_t>(bytes.size()), *stream, "test"));
    AMPC_RETURN_IF_ERROR(stream->CopyToDevice(buffer.data(), bytes.data(), buffer.bytes()));
    buffers.push_back(std::move(buffer));
    return buffers.back().data();
  };
  MatmulArgs args;
  AMPC_ASSIGN_OR_RETURN(args.a, upload(operands.a));
  AMPC_ASSIGN_OR_RETURN(args.b, upload(operands.b));
  AMPC_ASSIGN_OR_RETURN(args.c, upload(operands.c));
  AMPC_ASSIGN_OR_RETURN(args.d, upload(Bytes(operands.c.size())));
  AMPC_ASSIGN_OR_RETURN(args.bias, upload(operands.bias));
  AMPC_ASSIGN_OR_RETURN(args.aux, upload(operands.aux));
  AMPC_ASSIGN_OR_RETURN(args.workspace, upload(Bytes(static_cast<size_t>(plan->workspace_bytes()))));
  AMPC_RETURN_IF_ERROR(plan->Run(*stream, args));
  Results results{Bytes(operands.c.size()), Bytes(operands.bias.size()), Bytes(operands.aux.size())};
  AMPC_RETURN_IF_ERROR(stream->CopyToHost(results.d.data(), args.d, static_cast<int64_t>(results.d.size())));
  AMPC_RETURN_IF_ERROR(stream->CopyToHost(results.bias.data(), args.bias, static_cast<int64_t>(results.bias.size())));
  AMPC_RETURN_IF_ERROR(stream->CopyToHost(results.aux.data(), args.aux, static_cast<int64_t>(results.aux.size())));
  AMPC_RETURN_IF_ERROR(stream->Synchronize());
  return results;
}

// A unit in the last place of the type, the order of the sum, and for gelu the library's approximation of tanh.
void ExpectNear(const Bytes& found, const Bytes& needed, DType type, double function) {
  const double unit = type == DType::kF16 ? 0x1p-10 : type == DType::kBF16 ? 0x1p-7 : type == DType::kF64 ? 1e-13 : 1e-6;
  ASSERT_EQ(found.size(), needed.size());
  for (size_t i = 0; i < needed.size() / SizeOf(type); ++i) {
    const double want = At(needed, type, i);
    ASSERT_NEAR(At(found, type, i), want, unit * std::abs(want) + 1e-5 + function) << i;
  }
}

class CublasLtTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<DeviceTarget> cuda = OpenDevice("cuda:0");
    if (ExitCodeOf(cuda.status()) == ExitCode::kUnsupported) GTEST_SKIP() << cuda.status().message();
    ASSERT_OK(cuda);
    cuda_ = cuda->device;
  }
  // Both devices; the results of the first. An algorithm that the library lacks is not an error of ours: products without an epilogue
  // must have one.
  void Compare(const MatmulDesc& desc, const Operands& operands, Results* kept = nullptr) {
    absl::StatusOr<Results> found = Product(*cuda_, desc, operands);
    if (ExitCodeOf(found.status()) == ExitCode::kUnsupported && desc.epilogue != MatmulEpilogue::kNone) {
      std::cout << "no algorithm: epilogue " << static_cast<int>(desc.epilogue) << ", " << Name(desc.type_ab) << " to " << Name(desc.type_d)
                << "\n";
      return;
    }
    ASSERT_OK(found);
    ASSERT_OK_AND_ASSIGN(const Results needed, Product(*emulated_, desc, operands));
    const EpilogueTraits traits = TraitsOf(desc.epilogue);
    const double function = traits.function == EpilogueTraits::kGelu ? 2e-3 : 0;
    ExpectNear(found->d, needed.d, desc.type_d, function);
    if (traits.writes_bias) ExpectNear(found->bias, needed.bias, desc.type_d, 0);
    if (traits.aux && !traits.gradient && traits.function == EpilogueTraits::kGelu) ExpectNear(found->aux, needed.aux, desc.type_d, 0);
    if (kept != nullptr) *kept = *std::move(found);
  }

  std::shared_ptr<Device> cuda_, emulated_ = NewEmulatedDevice(0);
};

struct Types {
  DType ab, d;
};
constexpr Types kTypes[] = {{DType::kF32, DType::kF32},   {DType::kF16, DType::kF16},  {DType::kF16, DType::kF32},
                            {DType::kBF16, DType::kBF16}, {DType::kBF16, DType::kF32}, {DType::kF64, DType::kF64}};

MatmulDesc Desc(Types types, int form, int64_t m, int64_t n, int64_t k) {
  MatmulDesc d{.transpose_a = (form & 1) != 0, .transpose_b = (form & 2) != 0, .m = m, .n = n, .k = k};
  d.lda = d.transpose_a ? k : m;
  d.ldb = d.transpose_b ? n : k;
  d.ldd = m;
  d.type_ab = types.ab;
  d.type_d = types.d;
  return d;
}

Operands OperandsOf(const MatmulDesc& d) {
  return {Numbers(d.type_ab, d.m * d.k * d.batch, 1),
          Numbers(d.type_ab, d.k * d.n * d.batch, 2),
          Numbers(d.type_d, d.m * d.n * d.batch, 3),
          {},
          {}};
}

TEST_F(CublasLtTest, EveryTranspositionTypeAndShape) {
  struct Shape {
    int64_t m, n, k, batch;
  };
  for (const Types types : kTypes) {
    for (const Shape s : {Shape{64, 48, 80, 1}, {1, 7, 5, 1}, {7, 1, 9, 3}, {33, 17, 65, 4}, {1, 1, 1, 1}, {16, 8, 4096, 1}}) {
      for (int form = 0; form < 4; ++form) {
        MatmulDesc d = Desc(types, form, s.m, s.n, s.k);
        d.batch = s.batch;
        d.stride_a = d.m * d.k;
        d.stride_b = form == 0 ? 0 : d.k * d.n;
        d.stride_d = d.m * d.n;
        d.alpha = 0.5;
        d.beta = form == 1 ? -2 : 0;
        SCOPED_TRACE(::testing::Message() << Name(types.ab) << " " << Name(types.d) << " form " << form << " " << s.m << " " << s.n << " "
                                          << s.k);
        Compare(d, OperandsOf(d));
      }
    }
  }
}

TEST_F(CublasLtTest, EveryEpilogue) {
  for (const Types types : kTypes) {
    if (types.ab == DType::kF64) continue;
    for (int e = 1; e <= static_cast<int>(MatmulEpilogue::kBiasGradB); ++e) {
      const EpilogueTraits traits = TraitsOf(static_cast<MatmulEpilogue>(e));
      if (traits.gradient) continue;
      for (const int64_t m : {64, 21}) {
        MatmulDesc d = Desc(types, e % 4, m, 40, 32);
        d.epilogue = static_cast<MatmulEpilogue>(e);
        d.aux_ld = traits.aux ? 128 : 0;
        Operands operands = OperandsOf(d);
        const int64_t size = static_cast<int64_t>(SizeOf(types.d));
        if (traits.reads_bias) operands.bias = Numbers(types.d, m, 4);
        if (traits.writes_bias) operands.bias = Bytes(static_cast<size_t>((d.epilogue == MatmulEpilogue::kBiasGradA ? d.m : d.n) * size));
        if (traits.aux) operands.aux = Bytes(static_cast<size_t>(d.aux_ld * d.n * size));
        SCOPED_TRACE(::testing::Message() << Name(types.ab) << " " << Name(types.d) << " epilogue " << e << " m " << m);
        Compare(d, operands);
      }
    }
  }
}

// The next product reads the mask that one keeps: the mask's layout is the library's own.
TEST_F(CublasLtTest, GradientsReadWhatWasKept) {
  for (const bool gelu : {false, true}) {
    MatmulDesc d = Desc({DType::kF16, DType::kF16}, 0, 64, 40, 32);
    d.epilogue = gelu ? MatmulEpilogue::kGeluAux : MatmulEpilogue::kReluAux;
    d.aux_ld = 128;
    Operands operands = OperandsOf(d);
    operands.aux = Bytes(static_cast<size_t>(d.aux_ld * d.n * 2));
    Operands again = operands;
    d.beta = 0;
    absl::StatusOr<Results> found = Product(*cuda_, d, operands), needed = Product(*emulated_, d, operands);
    if (ExitCodeOf(found.status()) == ExitCode::kUnsupported) GTEST_SKIP() << found.status().message();
    ASSERT_OK(found);
    ASSERT_OK(needed);
    d.epilogue = gelu ? MatmulEpilogue::kDGelu : MatmulEpilogue::kDRelu;
    operands.aux = found->aux;
    again.aux = needed->aux;
    found = Product(*cuda_, d, operands);
    needed = Product(*emulated_, d, again);
    ASSERT_OK(found);
    ASSERT_OK(needed);
    ExpectNear(found->d, needed->d, DType::kF16, gelu ? 1e-2 : 0);
  }
}

}  // namespace
}  // namespace ampc
