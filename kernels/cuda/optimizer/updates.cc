// sgd, momentum, adam, adamw, lamb and grouped_update for a device.
#include "kernels/cuda/optimizer/updates.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/multi_tensor/chunks.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "kernels/spec/optimizer/update_spec.h"

namespace ampc::cuda {
namespace {

Scalar ScalarOf(const ScalarSlot& slot, const KernelArgs& args) {
  return {slot.flat < 0 ? nullptr : args.inputs[slot.flat], slot.type, slot.fixed};
}

UpdateTensor TensorOf(const UpdateOperands& p, const KernelArgs& args) {
  const auto in = [&](int at) { return at < 0 ? nullptr : args.inputs[at]; };
  const auto out = [&](int at) { return at < 0 ? nullptr : args.outputs[at]; };
  UpdateTensor t;
  t.grad = in(p.grad);
  t.weight = in(p.weight);
  t.weight_out = out(p.weight_out);
  t.low = in(p.low);
  t.low_out = out(p.low_out);
  for (int k = 0; k < 2; ++k) {
    t.moments[k] = in(p.moments[k]);
    t.moments_out[k] = out(p.moments_out[k]);
    t.powers[k] = in(p.powers[k]);
    t.powers_out[k] = out(p.powers_out[k]);
  }
  t.elements = p.elements;
  return t;
}

UpdateParams ParamsOf(const UpdateSpec& spec) {
  UpdateParams p;
  p.rule = spec.kind;
  p.weight = spec.weight_type;
  p.low = spec.param_type;
  p.grad = spec.grad_type;
  p.moment = spec.kind == UpdateKind::kSgd ? (spec.is_double ? DType::kF64 : DType::kF32) : spec.moment_type;
  p.has_master = !spec.params.empty() && spec.params[0].low >= 0;
  p.mu = spec.mu;
  p.rescale = spec.rescale;
  p.decay = spec.decay;
  p.nesterov = spec.nesterov;
  p.own_powers = spec.own_powers;
  p.lr_ratio = spec.lr_ratio;
  p.coeff = spec.coeff;
  p.adapts = spec.adapts;
  return p;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeUpdate(const KernelSpec& kernel_spec) {
  const SpecView view(kernel_spec);
  AMPC_ASSIGN_OR_RETURN(UpdateSpec spec, ReadUpdateSpec(view));
  const UpdateParams params = ParamsOf(spec);
  if (!TakesTypes(params)) return view.Unsupported("the device's kernel takes no such mixture of types");
  KernelTraits traits;
  traits.implementation = absl::StrCat("cuda:update[", spec.params.size(), "]");
  if (!spec.params.empty()) traits.in_place_input = spec.params[0].low >= 0 ? spec.params[0].low : spec.params[0].weight;
  int64_t chunks = 0;
  for (const UpdateOperands& p : spec.params) chunks += ChunksOf(p.elements);
  if (spec.kind == UpdateKind::kLamb) {
    traits.workspace_bytes = LambWorkspace(static_cast<int64_t>(spec.params.size()), chunks) * static_cast<int64_t>(sizeof(double));
  }
  return MakeDeviceKernel(std::move(traits), [spec = std::move(spec), params](const KernelArgs& args, void* stream) {
    UpdateParams p = params;
    p.skip = spec.skip < 0 ? nullptr : static_cast<const bool*>(args.inputs[spec.skip]);
    p.lr = ScalarOf(spec.lr, args);
    p.grad_scale = ScalarOf(spec.grad_scale, args);
    p.beta1 = ScalarOf(spec.beta1, args);
    p.beta2 = ScalarOf(spec.beta2, args);
    p.epsilon = ScalarOf(spec.epsilon, args);
    p.workspace = static_cast<double*>(args.workspace);
    std::vector<UpdateTensor> tensors;
    tensors.reserve(spec.params.size());
    for (const UpdateOperands& operands : spec.params) tensors.push_back(TensorOf(operands, args));
    return LaunchUpdate(stream, tensors.data(), static_cast<int64_t>(tensors.size()), p);
  });
}

}  // namespace

absl::Status RegisterOptimizers(KernelRegistry* registry) {
  for (const char* op : {"sgd", "momentum", "adam", "adamw", "lamb", "grouped_update"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeUpdate, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
