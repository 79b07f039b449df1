// cast, amp_cast (which leaves what is no float as it is) and amp_multicast. The types are those of the operands and results.
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/elementwise/cast_loop.h"

namespace ampc {
namespace {

struct Item {
  CastLoop loop;
  int64_t elements;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  std::vector<Item> items;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const DType from = spec.inputs[i].dtype, to = spec.outputs[i].dtype;
    const CastLoop loop(from, to);
    if (!loop.ok()) {
      return view.Unsupported(absl::StrCat("there is no cpu kernel that casts ", std::string(Name(from)), " to ", std::string(Name(to)),
                                           "; bool, integers and floats can be cast"));
    }
    items.push_back({loop, spec.outputs[i].NumElements()});
  }
  KernelTraits traits;
  traits.rounds_results = true;
  if (items.size() == 1 && items[0].loop.in_place()) traits.in_place_input = 0;
  if (items.size() == 1 && items[0].loop.keeps_bytes()) traits.alias_input = 0;
  return MakeLambdaKernel(std::move(traits), [items = std::move(items)](const KernelArgs& args) {
    for (size_t i = 0; i < items.size(); ++i) items[i].loop.Run(args.inputs[i], args.outputs[i], items[i].elements, args.threads);
    return absl::OkStatus();
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

}  // namespace ampc
