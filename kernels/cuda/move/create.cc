// fill_constant and its relatives, assign_value, shape, size, range, linspace, eye, one_hot_v2, tril_triu and its gradient.
#include "kernels/cuda/move/create.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/move/copy.h"
#include "kernels/spec/move/fill_spec.h"

namespace ampc::cuda {
namespace {

KernelTraits Named(const char* name) {
  KernelTraits traits;
  traits.implementation = name;
  return traits;
}

int64_t Width(DType dtype) { return static_cast<int64_t>(SizeOf(dtype)); }

absl::StatusOr<std::unique_ptr<Kernel>> MakeFillLike(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(const FillValue value, ReadFillValue(SpecView(spec)));
  const TensorDesc& out = spec.outputs[0];
  FillElement element;
  const std::vector<char> bytes = DeclaredElement(value, out.dtype);
  std::copy(bytes.begin(), bytes.end(), element.bytes);
  return MakeDeviceKernel(Named("cuda:fill"),
                          [element, n = out.NumElements(), size = Width(out.dtype)](const KernelArgs& args, void* stream) {
                            return LaunchFill(stream, args.outputs[0], n, size, element);
                          });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFill(const KernelSpec& spec) {
  const SpecView view(spec);
  const int tensor = view.In("ValueTensor");
  if (tensor < 0) return MakeFillLike(spec);
  const TensorDesc& out = spec.outputs[0];
  if (spec.inputs[tensor].dtype != out.dtype) return view.Unsupported("ValueTensor needs the type of the result");
  if (spec.inputs[tensor].NumElements() != 1) return view.Internal("ValueTensor needs one element");
  CopyParams repeat;
  repeat.run = out.NumElements() == 0 ? 0 : Width(out.dtype);
  repeat.rank = 1;
  repeat.axes[0] = {out.NumElements(), 0, Width(out.dtype)};
  return MakeDeviceKernel(Named("cuda:fill"), [repeat, tensor](const KernelArgs& args, void* stream) {
    return LaunchCopy(stream, repeat, args.inputs[tensor], args.outputs[0]);
  });
}

std::unique_ptr<Kernel> MakeLiteral(std::vector<char> bytes) {
  return MakeDeviceKernel(Named("cuda:literal"), [bytes = std::move(bytes)](const KernelArgs& args, void* stream) {
    return LaunchLiteral(stream, args.outputs[0], bytes.data(), static_cast<int64_t>(bytes.size()));
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAssignValue(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<char> bytes, ReadAssignedValues(SpecView(spec)));
  return MakeLiteral(Declared(bytes, spec.outputs[0].dtype));
}

template <typename T>
std::vector<char> BytesOf(const std::vector<int64_t>& numbers) {
  std::vector<T> values(numbers.begin(), numbers.end());
  const char* const bytes = reinterpret_cast<const char*>(values.data());
  return std::vector<char>(bytes, bytes + values.size() * sizeof(T));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeShape(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kI32, DType::kI64}));
  const std::vector<int64_t> dims(spec.inputs[0].dims.begin(), spec.inputs[0].dims.end());
  if (out.NumElements() != static_cast<int64_t>(dims.size())) return view.Internal("the result needs one element per dimension");
  return MakeLiteral(out.dtype == DType::kI64 ? BytesOf<int64_t>(dims) : BytesOf<int32_t>(dims));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSize(const KernelSpec& spec) {
  return MakeLiteral(BytesOf<int64_t>({spec.inputs[0].NumElements()}));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeRange(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  for (const TensorDesc& in : spec.inputs) {
    if (in.dtype != out.dtype || in.NumElements() != 1) return view.Unsupported("an operand is not one element of the result's type");
  }
  return MakeDeviceKernel(Named("cuda:range"), [type = out.dtype, n = out.NumElements(), start = view.In("Start"), step = view.In("Step")](
                                                   const KernelArgs& args, void* stream) {
    return LaunchRange(stream, type, args.inputs[start], args.inputs[step], n, args.outputs[0]);
  });
}

// The operand where it is on the device.
struct NumberInput {
  int flat = -1;
  DeviceNumber number;

  NumberInput(const SpecView& view, absl::string_view slot) {
    if (const auto value = view.Number(slot)) {
      number.fixed = *value;
    } else if (flat = view.In(slot); flat >= 0) {
      number.type = view.spec().inputs[flat].dtype;
    }
  }
  DeviceNumber Get(const KernelArgs& args) const {
    DeviceNumber n = number;
    if (flat >= 0) n.at = args.inputs[flat];
    return n;
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeLinspace(const KernelSpec& spec) {
  const SpecView view(spec);
  const NumberInput start(view, "Start"), stop(view, "Stop");
  for (const NumberInput& n : {start, stop}) {
    const DType t = n.number.type;
    if (!IsFloat(t) && t != DType::kI32 && t != DType::kI64)
      return view.Unsupported("the device's kernel needs Start and Stop as floats, i32 or i64");
  }
  const TensorDesc& out = spec.outputs[0];
  return MakeDeviceKernel(Named("cuda:linspace"),
                          [start, stop, type = out.dtype, n = out.NumElements()](const KernelArgs& args, void* stream) {
                            return LaunchLinspace(stream, type, start.Get(args), stop.Get(args), n, args.outputs[0]);
                          });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeEye(const KernelSpec& spec) {
  const TensorDesc& out = spec.outputs[0];
  if (out.dims.size() != 2) return SpecView(spec).Internal("the result needs two dimensions");
  return MakeDeviceKernel(Named("cuda:eye"),
                          [type = out.dtype, rows = out.dims[0], columns = out.dims[1]](const KernelArgs& args, void* stream) {
                            return LaunchEye(stream, type, rows, columns, args.outputs[0]);
                          });
}

// If an index out of range is an error of the op, its row is zeros here: nobody on the host sees it.
absl::StatusOr<std::unique_ptr<Kernel>> MakeOneHot(const KernelSpec& spec) {
  const SpecView view(spec);
  const int x = view.In("X");
  const DType from = spec.inputs[x].dtype;
  const TensorDesc& out = spec.outputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(from, {DType::kI32, DType::kI64}));
  const int64_t n = spec.inputs[x].NumElements();
  if (out.dims.empty() || out.NumElements() != n * out.dims.back()) return view.Internal("the result has no row for each index");
  if (IsComplex(out.dtype)) return view.Unsupported("the device has no complex one_hot");
  return MakeDeviceKernel(Named("cuda:one_hot"), [=, type = out.dtype, depth = out.dims.back()](const KernelArgs& args, void* stream) {
    return LaunchOneHot(stream, type, from, args.inputs[x], n, depth, args.outputs[0]);
  });
}

// The gradient is cut as the operand is.
absl::StatusOr<std::unique_ptr<Kernel>> MakeTriangle(const KernelSpec& spec) {
  const SpecView view(spec);
  const int gradient = view.In("Out@GRAD"), from = gradient < 0 ? view.In("X") : gradient;
  const TensorDesc& x = spec.inputs[from];
  const size_t rank = x.dims.size();
  if (rank < 2) return view.Internal("the operand is no matrix");
  if (x.dtype != spec.outputs[0].dtype) return view.Internal("the result has another type than X");
  const TriangleParams p{
      Width(x.dtype), x.NumElements(), x.dims[rank - 2], x.dims[rank - 1], view.op().GetInt("diagonal"), view.op().GetBool("lower")};
  return MakeDeviceKernel(Named("cuda:tril_triu"), [p, from](const KernelArgs& args, void* stream) {
    return LaunchTriangle(stream, p, args.inputs[from], args.outputs[0]);
  });
}

}  // namespace

// Ops whose operands are mostly constants: they are computed before the run, so a device seldom sees them.
absl::Status RegisterConstants(KernelRegistry* registry) {
  const KernelEntry entries[] = {
      {"assign_value", &MakeAssignValue, {DType::kF32, DType::kF64, DType::kBool, DType::kI32, DType::kI64}},
      {"eye", &MakeEye, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}},
      {"fill_constant", &MakeFill, MovableTypes()},
      {"linspace", &MakeLinspace, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}},
      {"range", &MakeRange, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}},
      {"shape", &MakeShape, MovableTypes()},
      {"size", &MakeSize, MovableTypes()},
  };
  for (const KernelEntry& entry : entries) AMPC_RETURN_IF_ERROR(registry->Add(entry));
  return absl::OkStatus();
}

absl::Status RegisterCreate(KernelRegistry* registry) {
  const std::vector<DType> floats = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  std::vector<DType> real = floats;
  real.insert(real.end(), {DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64});
  const KernelEntry entries[] = {
      {"fill_any_like", &MakeFillLike, MovableTypes()},   {"fill_constant_batch_size_like", &MakeFillLike, MovableTypes()},
      {"fill_zeros_like", &MakeFillLike, MovableTypes()}, {"one_hot_v2", &MakeOneHot, real},
      {"tril_triu", &MakeTriangle, MovableTypes()},       {"tril_triu_grad", &MakeTriangle, floats},
  };
  for (const KernelEntry& entry : entries) AMPC_RETURN_IF_ERROR(registry->Add(entry));
  return absl::OkStatus();
}

}  // namespace ampc::cuda
