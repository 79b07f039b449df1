// fill_constant and its relatives, assign_value and range.
#include <algorithm>
#include <complex>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/common/integer.h"
#include "kernels/cpu/elementwise/cast_loop.h"
#include "kernels/cpu/move/move.h"

namespace ampc {
namespace {

// The value as text where there is text (exact for every i64), else the float attribute.
struct Value {
  double number = 0;
  int64_t integer = 0;
  bool is_integer = false;
};

absl::StatusOr<Value> ReadValue(const SpecView& view) {
  Value value;
  const std::string text(absl::StripAsciiWhitespace(view.op().GetString("str_value")));
  value.number = view.op().GetFloat("value");
  if (text.empty()) return value;
  value.is_integer = absl::SimpleAtoi(text, &value.integer);
  if (value.is_integer) value.number = static_cast<double>(value.integer);
  if (!value.is_integer && !absl::SimpleAtod(text, &value.number)) {
    return view.Unsupported(absl::StrCat("str_value is '", text, "', needs a number"));
  }
  return value;
}

// One element of the result in its storage type, before rounding to f16 or bf16.
std::vector<char> ElementOf(const Value& value, DType dtype) {
  std::vector<char> bytes(ElementSize(dtype), 0);
  if (dtype == DType::kC64 || dtype == DType::kC128) {  // the imaginary part is 0
    const float narrow = static_cast<float>(value.number);
    std::memcpy(bytes.data(), dtype == DType::kC64 ? static_cast<const void*>(&narrow) : &value.number, bytes.size() / 2);
  } else if (value.is_integer && !IsFloat(dtype)) {
    CastLoop(DType::kI64, StorageType(dtype)).Run(&value.integer, bytes.data(), 1, 1);
  } else {
    CastLoop(DType::kF64, StorageType(dtype)).Run(&value.number, bytes.data(), 1, 1);
  }
  return bytes;
}

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
  AMPC_ASSIGN_OR_RETURN(const Value value, ReadValue(view));
  return MakeLambdaKernel({}, [repeat, element = ElementOf(value, out.dtype)](const KernelArgs& args) {
    repeat.Run(element.data(), args.outputs[0], args.threads);
    return absl::OkStatus();
  });
}

// fill_any_like, fill_zeros_like and fill_constant_batch_size_like: operands give nothing but a shape.
absl::StatusOr<std::unique_ptr<Kernel>> MakeFillLike(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  const StridedCopy repeat({out.NumElements()}, {0}, {1}, ElementSize(out.dtype));
  AMPC_ASSIGN_OR_RETURN(const Value value, ReadValue(view));
  return MakeLambdaKernel({}, [repeat, element = ElementOf(value, out.dtype)](const KernelArgs& args) {
    repeat.Run(element.data(), args.outputs[0], args.threads);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAssignValue(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  const DType storage = StorageType(out.dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32, DType::kF64, DType::kBool, DType::kI32, DType::kI64}));
  const int64_t n = out.NumElements();
  std::vector<char> bytes(n * SizeOf(storage));
  if (IsFloat(storage)) {
    const std::vector<double> values = view.op().GetFloats(storage == DType::kF64 ? "fp64_values" : "fp32_values");
    if (static_cast<int64_t>(values.size()) != n) return view.Internal("there is another number of values than elements");
    CastLoop(DType::kF64, storage).Run(values.data(), bytes.data(), n, 1);
  } else {
    const char* name = storage == DType::kBool ? "bool_values" : storage == DType::kI32 ? "int32_values" : "int64_values";
    const std::vector<int64_t> values = view.op().GetInts(name);
    if (static_cast<int64_t>(values.size()) != n) return view.Internal("there is another number of values than elements");
    CastLoop(DType::kI64, storage).Run(values.data(), bytes.data(), n, 1);
  }
  return MakeLambdaKernel({}, [bytes = std::move(bytes)](const KernelArgs& args) {
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(args.outputs[0]));
    return absl::OkStatus();
  });
}

// Start + i * Step; floats with one rounding per operation in double.
absl::StatusOr<std::unique_ptr<Kernel>> MakeRange(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType storage = StorageType(spec.outputs[0].dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}));
  for (const TensorDesc& in : spec.inputs) {
    if (StorageType(in.dtype) != storage || in.NumElements() != 1)
      return view.Internal("an operand is not one element of the result's type");
  }
  const int64_t n = spec.outputs[0].NumElements();
  return MakeLambdaKernel({}, [=, start = view.In("Start"), step = view.In("Step")](const KernelArgs& args) {
    for (int64_t i = 0; i < n; ++i) {
      if (IsFloat(storage)) {
        const double v = ReadAsDouble(args.inputs[start], storage) + static_cast<double>(i) * ReadAsDouble(args.inputs[step], storage);
        if (storage == DType::kF32) {
          static_cast<float*>(args.outputs[0])[i] = static_cast<float>(v);
        } else {
          static_cast<double*>(args.outputs[0])[i] = v;
        }
      } else {
        const int64_t v = integer::Add(ReadAsInt(args.inputs[start], storage), integer::Mul(i, ReadAsInt(args.inputs[step], storage)));
        if (storage == DType::kI32) {
          static_cast<int32_t*>(args.outputs[0])[i] = static_cast<int32_t>(v);
        } else {
          static_cast<int64_t*>(args.outputs[0])[i] = v;
        }
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
