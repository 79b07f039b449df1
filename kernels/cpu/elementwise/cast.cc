// cast, amp_cast (which leaves what is no float as it is) and amp_multicast. The types are those of the operands and results. If the
// result lies in another order than the operand, one pass transposes and rounds.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/elementwise/cast_loop.h"
#include "kernels/halves.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

struct Item {
  CastLoop loop;
  int64_t elements;
  TensorDesc from, to;

  void Run(const void* x, void* out, int threads) const {
    if (!from.half && !to.half) return loop.Run(x, out, elements, threads);
    if (StorageType(from.dtype) == DType::kF32 && StorageType(to.dtype) == DType::kF32 &&
        (to.half || to.dtype == DType::kF32 || to.dtype == from.dtype)) {
      return ConvertStored(x, from.storage(), out, to.storage(), elements, threads);
    }
    ParallelFor(threads, elements, 1 << 15, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; i += kHalfTile) RunTile(x, out, i, std::min(kHalfTile, last - i));
    });
  }

 private:
  void RunTile(const void* x, void* out, int64_t first, int64_t n) const {
    float wide[kHalfTile], results[kHalfTile];
    const void* in = static_cast<const char*>(x) + first * ElementSize(from);
    if (from.half) in = FloatsAt(x, from.dtype, first, n, wide);
    if (!to.half) return loop.Run(in, static_cast<char*>(out) + first * ElementSize(to), n, 1);
    loop.Run(in, results, n, 1);
    StoreFloats(results, to.dtype, first, n, out);
  }
};

std::unique_ptr<Kernel> MakeTransposing(const TensorDesc& from, const TensorDesc& to) {
  KernelTraits traits;
  traits.implementation = "ampc:layout";
  traits.rounds_results = true;
  if (from.half || to.half) {
    return MakeLambdaKernel(std::move(traits), [from, to](const KernelArgs& args) {
      ConvertTensor(args.threads, from, to, args.inputs[0], args.outputs[0]);
      return absl::OkStatus();
    });
  }
  return MakeLambdaKernel(std::move(traits), [from, to](const KernelArgs& args) {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    ConvertLayout(args.threads, from.dims, from.layout, to.layout, x, static_cast<float*>(args.outputs[0]), to.dtype);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  if (spec.inputs.size() == 1 && spec.inputs[0].layout != spec.outputs[0].layout) return MakeTransposing(spec.inputs[0], spec.outputs[0]);
  const SpecView view(spec);
  const std::string mode = view.op().GetString("round_mode");
  const CastRounding rounding{view.op().GetBool("saturate", true), mode == "down"      ? ScaleFloat::Mode::kDown
                                                                   : mode == "nearest" ? ScaleFloat::Mode::kNearest
                                                                                       : ScaleFloat::Mode::kUp};
  std::vector<Item> items;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const DType from = spec.inputs[i].dtype, to = spec.outputs[i].dtype;
    const CastLoop loop(from, to, rounding);
    if (!loop.ok()) {
      return view.Unsupported(absl::StrCat("there is no cpu kernel that casts ", std::string(Name(from)), " to ", std::string(Name(to)),
                                           "; bool, integers and floats can be cast"));
    }
    items.push_back({loop, spec.outputs[i].NumElements(), spec.inputs[i], spec.outputs[i]});
  }
  KernelTraits traits;
  traits.rounds_results = true;
  const bool one = items.size() == 1 && items[0].from.half == items[0].to.half;
  if (one && items[0].loop.in_place()) traits.in_place_input = 0;
  if (one && items[0].loop.keeps_bytes()) traits.alias_input = 0;
  return MakeLambdaKernel(std::move(traits), [items = std::move(items)](const KernelArgs& args) {
    for (size_t i = 0; i < items.size(); ++i) items[i].Run(args.inputs[i], args.outputs[i], args.threads);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterCast(KernelRegistry* registry) {
  std::vector<DType> types = MovableTypes();
  types.erase(std::remove_if(types.begin(), types.end(), IsComplex), types.end());
  AMPC_RETURN_IF_ERROR(registry->Add({"cast", &Make, types, LayoutSupport::kConverts, nullptr, HalfSupport::kEach}));
  AMPC_RETURN_IF_ERROR(registry->Add({"amp_cast", &Make, types, LayoutSupport::kConverts, nullptr, HalfSupport::kEach}));
  return registry->Add({"amp_multicast", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}, LayoutSupport::kElementwise});
}

}  // namespace ampc
