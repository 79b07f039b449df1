// argsort, top_k and top_k_v2: stable. A few elements of each line are searched, more are sorted: all lines at once by value, then by line.
#include "kernels/cuda/sort/sort.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/sort/radix_sort.h"
#include "kernels/spec/index/sort_spec.h"

namespace ampc::cuda {
namespace {

// Parts of the workspace, each 256-byte aligned: keys and sorted keys of 8 bytes, four lists of numbers, scratch memory.
struct Plan {
  SortLines lines;
  int64_t n = 0, wide = 0, narrow = 0, scratch = 0;
  int key_bits = 32, line_bits = 0;

  int64_t bytes() const { return 2 * wide + 4 * narrow + scratch; }

  int Launch(void* stream, const void* x, char* workspace, void* out, int64_t* indices) const {
    auto* const keys = reinterpret_cast<uint64_t*>(workspace);
    auto* const sorted = reinterpret_cast<uint64_t*>(workspace + wide);
    const auto list = [&](int i) { return reinterpret_cast<uint32_t*>(workspace + 2 * wide + i * narrow); };
    char* const rest = workspace + 2 * wide + 4 * narrow;
    int code = LaunchSortKeys(stream, lines, x, keys);
    if (code == 0) code = LaunchCount(stream, list(0), n);
    if (code == 0) code = LaunchSortPairs(stream, {n, key_bits, keys, sorted, list(0), list(1), true}, rest, scratch);
    if (code != 0 || line_bits == 0) return code != 0 ? code : LaunchTakeSorted(stream, lines, x, list(1), out, indices);
    code = LaunchLineOf(stream, list(1), list(0), n, lines.size);
    if (code == 0) code = LaunchSortPairs(stream, {n, line_bits, list(0), list(2), list(1), list(3), false}, rest, scratch);
    return code != 0 ? code : LaunchTakeSorted(stream, lines, x, list(3), out, indices);
  }
};

absl::StatusOr<Plan> MakePlan(const SpecView& view, const SortLines& lines) {
  Plan p{lines};
  const int64_t count = lines.outer * lines.inner;
  p.n = count * lines.size;
  if (p.n > INT32_MAX) return view.Unsupported("the device sorts less than 2^31 elements");
  p.wide = (p.n * 8 + 255) / 256 * 256;
  p.narrow = (p.n * 4 + 255) / 256 * 256;
  p.key_bits = 8 * static_cast<int>(std::max(SizeOf(lines.type), IsFloat(lines.type) ? size_t{4} : size_t{1}));
  while ((int64_t{1} << p.line_bits) < count) ++p.line_bits;
  const int64_t by_value = SortPairsBytes(p.n, p.key_bits, true), by_line = p.line_bits == 0 ? 0 : SortPairsBytes(p.n, p.line_bits, false);
  if (by_value < 0 || by_line < 0) return InternalError(absl::StrCat("the device's sort gave code ", -std::min(by_value, by_line)));
  p.scratch = std::max(by_value, by_line);
  return p;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const SortSpec s, ReadSort(view));
  const int x = view.In("X"), out = view.Out("Out"), indices = view.Out("Indices");
  const SortLines lines{spec.inputs[x].dtype, s.split.outer, s.split.size, s.split.inner, s.kept, s.descending};
  KernelTraits traits;
  if (spec.outputs[out].NumElements() == 0 || (s.kept <= kMaxSelected && s.kept < s.split.size)) {
    traits.implementation = "cuda:select";
    return MakeDeviceKernel(std::move(traits), [=, empty = spec.outputs[out].NumElements() == 0](const KernelArgs& args, void* stream) {
      return empty ? 0 : LaunchSelect(stream, lines, args.inputs[x], args.outputs[out], static_cast<int64_t*>(args.outputs[indices]));
    });
  }
  AMPC_ASSIGN_OR_RETURN(const Plan plan, MakePlan(view, lines));
  traits.implementation = "cuda:radix_sort";
  traits.workspace_bytes = plan.bytes();
  return MakeDeviceKernel(std::move(traits), [=](const KernelArgs& args, void* stream) {
    return plan.Launch(stream, args.inputs[x], static_cast<char*>(args.workspace), args.outputs[out],
                       static_cast<int64_t*>(args.outputs[indices]));
  });
}

}  // namespace

absl::Status RegisterSort(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kU8, DType::kI16, DType::kI32, DType::kI64};
  for (const char* op : {"argsort", "top_k", "top_k_v2"}) AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, types}));
  return absl::OkStatus();
}

}  // namespace ampc::cuda
