// one_hot_v2: zeros, and a 1 at each index. An index out of range is an error that names it, unless the op allows it.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"

namespace ampc {
namespace {

template <typename T>
void Put(void* out, int64_t i) {
  static_cast<T*>(out)[i] = T(1);
}

using PutFn = void (*)(void* out, int64_t i);

PutFn FindPut(DType storage) {
  return Select<NumbersAndBool>(storage, [](auto tag) -> PutFn { return &Put<typename decltype(tag)::type>; });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const int x = view.In("X");
  const DType from = spec.inputs[x].dtype, to = spec.outputs[0].dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType(from, {DType::kI32, DType::kI64}));
  const PutFn put = FindPut(StorageType(to));
  if (put == nullptr) return view.Unsupported(absl::StrCat("there is no cpu kernel for ", std::string(Name(to))));
  const int64_t n = spec.inputs[x].NumElements(), bytes = spec.outputs[0].StorageBytes();
  if (spec.outputs[0].dims.empty() || spec.outputs[0].NumElements() != n * spec.outputs[0].dims.back()) {
    return view.Internal("the result has no row for each index");
  }
  const int64_t depth = spec.outputs[0].dims.back();
  const bool any = view.op().GetBool("allow_out_of_range");
  KernelTraits traits;
  traits.rounds_results = true;
  return MakeLambdaKernel(traits, [=, name = Describe(view.op())](const KernelArgs& args) -> absl::Status {
    if (bytes > 0) std::memset(args.outputs[0], 0, bytes);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t index = ReadAsInt(args.inputs[x], from, i);
      if (index >= 0 && index < depth) {
        put(args.outputs[0], i * depth + index);
      } else if (!any) {
        return UsageError(absl::StrCat(name, ": index ", i, " is ", index, ", needs 0 to ", depth - 1));
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterOneHot(KernelRegistry* registry) { return registry->Add({"one_hot_v2", &Make, DeclaredTypes<NumbersAndBool>()}); }

}  // namespace ampc
