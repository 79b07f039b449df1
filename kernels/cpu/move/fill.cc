// fill_constant and its relatives, assign_value and range.
#include <algorithm>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/common/integer.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/move/strided_copy.h"
#include "kernels/spec/move/fill_spec.h"

namespace ampc {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> MakeFill(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  const int64_t size = ElementSize(out.dtype), n = out.NumElements();
  const StridedCopy repeat({n}, {0}, {1}, size);
  if (const int tensor = view.In("ValueTensor"); tensor >= 0) {
    if (StorageType(spec.inputs[tensor].dtype) != StorageType(out.dtype))
      return view.Unsupported("ValueTensor needs the type of the result");
    if (spec.inputs[tensor].NumElements() != 1) return view.Internal("ValueTensor needs one element");
    return MakeLambdaKernel({}, [repeat, tensor](const KernelArgs& args) {
      repeat.Run(args.inputs[tensor], args.outputs[0], args.threads);
      return absl::OkStatus();
    });
  }
  AMPC_ASSIGN_OR_RETURN(const FillValue value, ReadFillValue(view));
  return MakeLambdaKernel({}, [repeat, element = StoredElement(value, out.dtype)](const KernelArgs& args) {
    repeat.Run(element.data(), args.outputs[0], args.threads);
    return absl::OkStatus();
  });
}

// fill_any_like, fill_zeros_like and fill_constant_batch_size_like: operands give nothing but a shape.
absl::StatusOr<std::unique_ptr<Kernel>> MakeFillLike(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  const StridedCopy repeat({out.NumElements()}, {0}, {1}, ElementSize(out.dtype));
  AMPC_ASSIGN_OR_RETURN(const FillValue value, ReadFillValue(view));
  return MakeLambdaKernel({}, [repeat, element = StoredElement(value, out.dtype)](const KernelArgs& args) {
    repeat.Run(element.data(), args.outputs[0], args.threads);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAssignValue(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(std::vector<char> bytes, ReadAssignedValues(SpecView(spec)));
  return MakeLambdaKernel({}, [bytes = std::move(bytes)](const KernelArgs& args) {
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(args.outputs[0]));
    return absl::OkStatus();
  });
}

template <typename T>
void Put(void* out, int64_t i, T value) {
  static_cast<T*>(out)[i] = value;
}

// Start + i * Step, converted to the result's type; floats with one rounding per operation in double.
absl::StatusOr<std::unique_ptr<Kernel>> MakeRange(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType storage = StorageType(spec.outputs[0].dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}));
  const DType from = StorageType(spec.inputs[0].dtype);
  for (const TensorDesc& in : spec.inputs) {
    if (StorageType(in.dtype) != from || in.NumElements() != 1) return view.Internal("the operands are not one element of one type each");
  }
  const int64_t n = spec.outputs[0].NumElements();
  return MakeLambdaKernel({}, [=, start = view.In("Start"), step = view.In("Step")](const KernelArgs& args) {
    const auto put = [&](int64_t i, auto v) {
      switch (storage) {
        case DType::kF32: return Put(args.outputs[0], i, static_cast<float>(v));
        case DType::kF64: return Put(args.outputs[0], i, static_cast<double>(v));
        case DType::kI32: return Put(args.outputs[0], i, static_cast<int32_t>(v));
        default: return Put(args.outputs[0], i, static_cast<int64_t>(v));
      }
    };
    for (int64_t i = 0; i < n; ++i) {
      if (IsFloat(from)) {
        const double v = ReadAsDouble(args.inputs[start], from) + static_cast<double>(i) * ReadAsDouble(args.inputs[step], from);
        if (IsFloat(storage)) {
          put(i, v);
        } else {
          put(i, std::abs(v) < 0x1p63 ? static_cast<int64_t>(v) : int64_t{0});
        }
      } else {
        put(i, integer::Add(ReadAsInt(args.inputs[start], from), integer::Mul(i, ReadAsInt(args.inputs[step], from))));
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterFill(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"fill_constant", &MakeFill, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"fill_any_like", &MakeFillLike, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"fill_zeros_like", &MakeFillLike, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"fill_constant_batch_size_like", &MakeFillLike, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(
      registry->Add({"assign_value", &MakeAssignValue, {DType::kF32, DType::kF64, DType::kBool, DType::kI32, DType::kI64}}));
  return registry->Add({"range", &MakeRange, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}});
}

}  // namespace ampc
