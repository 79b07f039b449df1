// cast, amp_cast and amp_multicast.
#include "kernels/cuda/elementwise/cast.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/elementwise/map_plan.h"

namespace ampc::cuda {
namespace {

struct Item {
  DType from, to;
  int64_t elements;
};

bool CanCast(DType t) { return IsFloat(t) || IsInteger(t) || t == DType::kBool; }

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  std::vector<Item> items;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const DType from = spec.inputs[i].dtype, to = spec.outputs[i].dtype;
    if (!CanCast(from) || !CanCast(to)) {
      return view.Unsupported(
          absl::StrCat("there is no device kernel that casts ", std::string(Name(from)), " to ", std::string(Name(to))));
    }
    items.push_back({from, to, spec.outputs[i].NumElements()});
  }
  KernelTraits traits;
  traits.implementation = "cuda:cast";
  if (items.size() == 1 && SizeOf(items[0].from) == SizeOf(items[0].to)) traits.in_place_input = 0;
  if (items.size() == 1 && items[0].from == items[0].to) traits.alias_input = 0;
  return MakeDeviceKernel(std::move(traits), [items](const KernelArgs& args, void* stream) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (const int code = LaunchCast(stream, items[i].from, args.inputs[i], items[i].to, args.outputs[i], items[i].elements); code != 0)
        return code;
    }
    return 0;
  });
}

}  // namespace

absl::Status RegisterCast(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kBool,
                                    DType::kU8,  DType::kI8,  DType::kI16,  DType::kI32, DType::kI64};
  AMPC_RETURN_IF_ERROR(registry->Add({"cast", &Make, types, LayoutSupport::kElementwise}));
  AMPC_RETURN_IF_ERROR(registry->Add({"amp_cast", &Make, types, LayoutSupport::kElementwise}));
  return registry->Add({"amp_multicast", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}, LayoutSupport::kElementwise});
}

}  // namespace ampc::cuda
