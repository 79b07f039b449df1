// c_allreduce_start and c_allreduce_finish: on the CPU the start does the whole exchange.
#include <algorithm>

#include "graph/base/status_macros.h"
#include "kernels/communicator.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/spec/optimizer/exchange_spec.h"

namespace ampc {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> MakeStart(const KernelSpec& kernel_spec) {
  AMPC_ASSIGN_OR_RETURN(ExchangeSpec spec, ReadExchangeSpec(SpecView(kernel_spec)));
  return MakeLambdaKernel({}, [spec = std::move(spec)](const KernelArgs& args) {
    auto* pack = static_cast<float*>(args.outputs[0]);
    std::fill_n(pack, spec.total, 0.0f);
    for (size_t i = 0; i < spec.elements.size(); ++i) {
      std::copy_n(static_cast<const float*>(args.inputs[spec.first_in + i]), spec.elements[i], pack + spec.offsets[i]);
    }
    Communicator* job = ProcessCommunicator();
    if (job == nullptr || job->size() == 1) return absl::OkStatus();
    return job->AllReduceSum({pack, static_cast<size_t>(spec.total)});
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFinish(const KernelSpec& kernel_spec) {
  const SpecView view(kernel_spec);
  AMPC_ASSIGN_OR_RETURN(ExchangeSpec spec, ReadExchangeSpec(view));
  return MakeLambdaKernel({}, [spec = std::move(spec), pack_at = view.In("Pack")](const KernelArgs& args) {
    const auto* pack = static_cast<const float*>(args.inputs[pack_at]);
    const Communicator* job = ProcessCommunicator();
    const float factor = spec.average && job != nullptr ? 1.0f / static_cast<float>(job->size()) : 1.0f;
    for (size_t i = 0; i < spec.elements.size(); ++i) {
      const float* from = pack + spec.offsets[i];
      std::transform(from, from + spec.elements[i], static_cast<float*>(args.outputs[spec.first_out + i]),
                     [factor](float sum) { return sum * factor; });
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterPackedReduce(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16};
  AMPC_RETURN_IF_ERROR(registry->Add({"c_allreduce_start", &MakeStart, types}));
  return registry->Add({"c_allreduce_finish", &MakeFinish, {DType::kF32}});  // its first operand is Pack
}

}  // namespace ampc
