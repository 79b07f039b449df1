#include "tests/kernels/device_run.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/layout.h"
#include "kernels/storage.h"
#include "tests/testlib/device_tolerance.h"
#include "tests/testlib/kernels_ran.h"
#include "tests/testlib/redzone_memory.h"

namespace ampc::testing {
namespace {

int64_t BytesOf(const TensorDesc& desc) { return desc.NumElements() * static_cast<int64_t>(SizeOf(desc.dtype)); }

// The operand slot whose memory a result of the slot takes over.
std::string TakenFrom(const std::string& result) {
  if (result == "LossScaling") return "PrevLossScaling";
  if (result == "OutGoodSteps") return "InGoodSteps";
  if (result == "OutBadSteps") return "InBadSteps";
  if (result == "Out") return "X";
  return result.ends_with("Out") ? result.substr(0, result.size() - 3) : "";
}

// By result: the operand whose memory it takes over, or -1.
std::vector<int> Placement(const KernelSpec& spec, const Kernel& kernel) {
  const Op& op = *spec.op;
  std::vector<int> from(spec.outputs.size(), -1);
  if (!from.empty()) from[0] = kernel.in_place_input();
  const bool pairs = op.type() == "check_finite_and_unscale" || op.type() == "update_loss_scaling" || op.def().InputSlot("Param") >= 0;
  for (size_t slot = 0, flat = 0; pairs && from.size() > 1 && slot < op.def().outputs.size(); ++slot) {
    const int operand_slot = op.def().InputSlot(TakenFrom(op.def().outputs[slot].name));
    for (size_t i = 0; i < op.outputs(static_cast<int>(slot)).size(); ++i, ++flat) {
      if (operand_slot < 0) continue;
      int before = 0;
      for (int s = 0; s < operand_slot; ++s) before += static_cast<int>(op.inputs(s).size());
      from[flat] = before + static_cast<int>(i);
    }
  }
  return from;
}

absl::StatusOr<std::vector<HostTensor>> RunOnce(const KernelSpec& spec, const Kernel& kernel, absl::Span<const HostTensor* const> operands,
                                                const std::vector<int>& placement, Device& device) {
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream());
  std::vector<RedzoneMemory> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (size_t i = 0; i < operands.size(); ++i) {
    const HostTensor in_memory = InLayout(*operands[i], spec.inputs[i], Layout::kPlain, spec.inputs[i].layout);
    AMPC_ASSIGN_OR_RETURN(const HostTensor value, FromStorage(in_memory, spec.inputs[i].dtype));
    AMPC_RETURN_IF_ERROR(
        inputs.emplace_back(*stream).Allocate(BytesOf(spec.inputs[i]), static_cast<int64_t>(SizeOf(spec.inputs[i].dtype))));
    AMPC_RETURN_IF_ERROR(inputs.back().Write(value.data()));
    in.push_back(inputs.back().data());
  }
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    AMPC_RETURN_IF_ERROR(
        outputs.emplace_back(*stream).Allocate(BytesOf(spec.outputs[i]), static_cast<int64_t>(SizeOf(spec.outputs[i].dtype))));
    out.push_back(placement[i] < 0 ? outputs.back().data() : inputs[placement[i]].data());
  }
  RedzoneMemory workspace(*stream);
  AMPC_RETURN_IF_ERROR(workspace.Allocate(kernel.workspace_bytes()));
  AMPC_RETURN_IF_ERROR(kernel.Run({in, absl::MakeSpan(out), workspace.data(), 1, stream.get()}));
  AMPC_RETURN_IF_ERROR(workspace.CheckRedzone("its workspace"));
  for (size_t i = 0; i < inputs.size(); ++i) AMPC_RETURN_IF_ERROR(inputs[i].CheckRedzone(absl::StrCat("operand ", i)));
  std::vector<HostTensor> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    AMPC_RETURN_IF_ERROR(outputs[i].CheckRedzone(absl::StrCat("result ", i)));
    AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(spec.outputs[i].dtype, spec.outputs[i].dims));
    AMPC_RETURN_IF_ERROR((placement[i] < 0 ? outputs[i] : inputs[placement[i]]).Read(t.mutable_data()));
    AMPC_ASSIGN_OR_RETURN(t, ToStorage(std::move(t)));
    results.push_back(InLayout(t, spec.outputs[i], spec.outputs[i].layout, Layout::kPlain));
  }
  return results;
}

DeviceTolerance ToleranceOf(const Op& op, DType declared) {
  const DeviceTolerance t = DeviceToleranceFor(op.type() == "grouped_update" ? op.GetString("op") : op.type(), declared);
  const bool gradient = op.GetString("activation_grad") == "gelu_grad";
  return gradient || op.GetString("activation") == "gelu" ? WithLibraryGelu(t, declared, gradient) : t;
}

template <typename T>
absl::Status Compare(const HostTensor& found, const HostTensor& needed, const Op& op, DType declared) {
  const auto have = found.values<T>(), want = needed.values<T>();
  double largest = 0;
  for (const T v : want) largest = std::isfinite(static_cast<double>(v)) ? std::max(largest, std::abs(static_cast<double>(v))) : largest;
  for (size_t i = 0; i < want.size(); ++i) {
    const auto a = static_cast<double>(have[i]), b = static_cast<double>(want[i]);
    if (WithinDeviceTolerance(a, b, declared, largest, ToleranceOf(op, declared))) continue;
    return InternalError(absl::StrCat(op.type(), ": element ", i, " is ", a, " on the device, ", b, " on the CPU"));
  }
  return absl::OkStatus();
}

}  // namespace

HostTensor InLayout(const HostTensor& t, const TensorDesc& desc, Layout from, Layout to) {
  HostTensor out = t;
  if (from != to && SizeOf(t.dtype()) == 1) {
    ConvertByteLayout(1, desc.dims, from, to, t.data(), out.mutable_data());
    return out;
  }
  if (from != to) ConvertLayout(1, desc.dims, from, to, t.values<float>().data(), out.mutable_values<float>().data());
  return out;
}

absl::StatusOr<std::vector<HostTensor>> RunKernelOnDevice(const KernelEntry& entry, KernelSpec spec,
                                                          absl::Span<const HostTensor* const> operands,
                                                          absl::Span<const HostTensor* const> on_cpu, Device& device) {
  spec.device = &device;
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel, MakeKernel(entry, spec));
  NoteKernelRan(entry.op, spec);
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> apart, RunOnce(spec, *kernel, operands, std::vector<int>(spec.outputs.size(), -1), device));
  AMPC_ASSIGN_OR_RETURN(const std::vector<HostTensor> placed, RunOnce(spec, *kernel, operands, Placement(spec, *kernel), device));
  for (size_t i = 0; i < apart.size(); ++i) {
    if (!(apart[i] == placed[i])) return InternalError(absl::StrCat(spec.op->type(), ": result ", i, " differs in its operand's memory"));
    const DType declared = spec.outputs[i].dtype;
    if (apart[i].dtype() == DType::kF64) {
      AMPC_RETURN_IF_ERROR(Compare<double>(apart[i], *on_cpu[i], *spec.op, declared));
    } else if (apart[i].dtype() == DType::kF32) {
      AMPC_RETURN_IF_ERROR(Compare<float>(apart[i], *on_cpu[i], *spec.op, declared));
    } else if (!(apart[i] == *on_cpu[i])) {
      return InternalError(absl::StrCat(spec.op->type(), ": result ", i, " differs from the CPU's"));
    }
  }
  return apart;
}

}  // namespace ampc::testing
