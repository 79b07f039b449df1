#include "kernels/cpu/einsum_loops.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/types.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

// Any equation, one element of the result after the other: for types that the product above does not take.
struct Loops {
  // Of the labels of the result and of the others: sizes, and strides by operand, 0 where it lacks the label.
  std::vector<int64_t> kept, summed;
  std::vector<std::vector<int64_t>> kept_strides, summed_strides;
};

Loops LoopsOf(const Equation& e) {
  Labels summed;
  for (const auto& [label, size] : e.sizes) {
    if (!Has(e.result, label)) summed.push_back(label);
  }
  Loops loops;
  for (int label : e.result) loops.kept.push_back(e.sizes.at(label));
  for (int label : summed) loops.summed.push_back(e.sizes.at(label));
  const auto strides = [](const Labelled& t, const Labels& labels) {
    std::vector<int64_t> out;
    for (int label : labels) out.push_back(Has(t.labels, label) ? t.strides.at(label) : 0);
    return out;
  };
  for (const Labelled& t : e.operands) {
    loops.kept_strides.push_back(strides(t, e.result));
    loops.summed_strides.push_back(strides(t, summed));
  }
  return loops;
}

// The offset of element `index`, counted over `sizes`.
int64_t OffsetAt(int64_t index, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = sizes.size(); d-- > 0; index /= sizes[d]) offset += index % sizes[d] * strides[d];
  return offset;
}

// Floats are summed in double; integers wrap.
template <typename T>
void RunLoops(const Loops& l, const KernelArgs& args, int64_t total) {
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  int64_t products = 1;
  for (int64_t size : l.summed) products *= size;
  const size_t operands = l.kept_strides.size();
  ParallelFor(args.threads, total, std::max<int64_t>(1, (1 << 11) / std::max<int64_t>(1, products)), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      Sum sum = 0;
      for (int64_t k = 0; k < products; ++k) {
        Sum product = 1;
        for (size_t o = 0; o < operands; ++o) {
          const int64_t at = OffsetAt(i, l.kept, l.kept_strides[o]) + OffsetAt(k, l.summed, l.summed_strides[o]);
          product *= static_cast<Sum>(static_cast<const T*>(args.inputs[o])[at]);
        }
        sum += product;
      }
      static_cast<T*>(args.outputs[0])[i] = static_cast<T>(sum);
    }
  });
}

using LoopsFn = void (*)(const Loops& l, const KernelArgs& args, int64_t total);

LoopsFn FindLoops(DType storage) {
  return Select<Numbers>(storage, [](auto tag) -> LoopsFn { return &RunLoops<typename decltype(tag)::type>; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MakeEinsumLoops(const SpecView& view, const Equation& e) {
  const DType dtype = view.spec().outputs[0].dtype;
  const LoopsFn run = FindLoops(StorageType(dtype));
  if (run == nullptr) return view.Unsupported(absl::StrCat("there is no cpu kernel for ", std::string(Name(dtype))));
  const int64_t total = SizeOf(e.result, e.sizes);
  return MakeLambdaKernel({}, [l = LoopsOf(e), run, total](const KernelArgs& args) {
    run(l, args, total);
    return absl::OkStatus();
  });
}

}  // namespace ampc
