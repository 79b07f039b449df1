// c_allreduce_sum: operands are packed into one buffer of at most kPackElements, which all processes add up, and taken out again.
#include <algorithm>
#include <cstring>

#include "graph/base/status_macros.h"
#include "kernels/communicator.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {
namespace {

// 16 MiB: long enough that a message's start does not count, short enough that memory does not grow with the model.
constexpr int64_t kPackElements = int64_t{1} << 22;

struct Tensors {
  int first_in = 0, first_out = 0;
  std::vector<int64_t> elements;
  int64_t total = 0;
};

// Copies elements [first, first + n) of all tensors in a row from or to the buffer.
template <typename Copy>
void ForEachTensorPart(const Tensors& t, int64_t first, int64_t n, Copy copy) {
  int64_t begin = 0;  // of the tensor
  for (size_t i = 0; i < t.elements.size(); begin += t.elements[i++]) {
    const int64_t from = std::max(first, begin);
    const int64_t to = std::min(first + n, begin + t.elements[i]);
    if (from < to) copy(i, from - begin, from - first, to - from);
  }
}

absl::Status AllReduce(const Tensors& t, bool average, const KernelArgs& args) {
  Communicator* job = ProcessCommunicator();
  if (job == nullptr || job->size() == 1) {
    for (size_t i = 0; i < t.elements.size(); ++i) {
      const auto bytes = static_cast<size_t>(t.elements[i]) * sizeof(float);
      if (bytes > 0) std::memmove(args.outputs[t.first_out + i], args.inputs[t.first_in + i], bytes);
    }
    return absl::OkStatus();
  }
  auto* pack = static_cast<float*>(args.workspace);
  const float factor = average ? 1.0f / static_cast<float>(job->size()) : 1.0f;
  for (int64_t first = 0; first < t.total; first += kPackElements) {
    const int64_t n = std::min(kPackElements, t.total - first);
    ForEachTensorPart(t, first, n, [&](size_t i, int64_t at, int64_t in_pack, int64_t count) {
      std::copy_n(static_cast<const float*>(args.inputs[t.first_in + i]) + at, count, pack + in_pack);
    });
    AMPC_RETURN_IF_ERROR(job->AllReduceSum({pack, static_cast<size_t>(n)}));
    ForEachTensorPart(t, first, n, [&](size_t i, int64_t at, int64_t in_pack, int64_t count) {
      float* out = static_cast<float*>(args.outputs[t.first_out + i]) + at;
      std::transform(pack + in_pack, pack + in_pack + count, out, [factor](float sum) { return sum * factor; });
    });
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAllReduce(const KernelSpec& spec) {
  const SpecView view(spec);
  Tensors t;
  t.first_in = std::max(0, view.In("X"));
  t.first_out = std::max(0, view.Out("Out"));
  if (view.NumIn("X") != view.NumOut("Out")) return view.Internal("X and Out differ in number");
  for (int i = 0; i < view.NumIn("X"); ++i) {
    AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("X", i).dtype, {DType::kF32}));
    t.elements.push_back(view.InDesc("X", i).NumElements());
    t.total += t.elements.back();
  }
  KernelTraits traits;
  traits.implementation = "ampc:packed";
  traits.workspace_bytes = std::min(t.total, kPackElements) * static_cast<int64_t>(sizeof(float));
  return MakeLambdaKernel(std::move(traits), [t = std::move(t), average = view.op().GetBool("average")](const KernelArgs& args) {
    return AllReduce(t, average, args);
  });
}

}  // namespace

absl::Status RegisterAllReduce(KernelRegistry* registry) {
  return registry->Add({"c_allreduce_sum", &MakeAllReduce, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc
