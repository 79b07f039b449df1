// c_allreduce_sum, c_allreduce_start and c_allreduce_finish for a device, by the job that its process has joined (DeviceJob). A start
// packs on the stream that computes and exchanges on the job's own; the finish lets the first wait for the second. Without such a job, in
// a job of several processes, the host does it.
#include <memory>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/communicator.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/collective/pack.h"
#include "kernels/device/device_job.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "kernels/spec/optimizer/exchange_spec.h"

namespace ampc::cuda {
namespace {

// The members of a kernel of these ops: null `job` for a process of its own.
struct Exchange {
  ExchangeSpec spec;
  std::shared_ptr<DeviceJob> job;

  float factor() const { return spec.average && job != nullptr ? 1.0f / static_cast<float>(job->size()) : 1.0f; }
  std::vector<PackTensor> Tensors(const KernelArgs& args, bool packs) const {
    std::vector<PackTensor> tensors;
    tensors.reserve(spec.elements.size());
    for (size_t i = 0; i < spec.elements.size(); ++i) {
      PackTensor t{nullptr, nullptr, spec.elements[i], spec.offsets[i], spec.types[i]};
      (packs ? t.from = args.inputs[spec.first_in + i] : t.to = args.outputs[spec.first_out + i]);
      tensors.push_back(t);
    }
    return tensors;
  }
  absl::Status Pack(const KernelArgs& args, float* pack) const {
    const std::vector<PackTensor> tensors = Tensors(args, true);  // whatever lies in the room behind one is added up, and read by nobody
    return args.stream->device().LaunchStatus(LaunchPack(args.stream->native(), tensors.data(), static_cast<int64_t>(tensors.size()), pack),
                                              "pack");
  }
  absl::Status Unpack(const KernelArgs& args, const float* pack) const {
    std::vector<PackTensor> tensors = Tensors(args, false);
    const int code = LaunchUnpack(args.stream->native(), tensors.data(), static_cast<int64_t>(tensors.size()), pack, factor());
    return args.stream->device().LaunchStatus(code, "unpack");
  }
  absl::Status Start(const KernelArgs& args, float* pack) const {
    AMPC_RETURN_IF_ERROR(Pack(args, pack));
    return job == nullptr ? absl::OkStatus() : job->Start(spec.bucket, pack, spec.total, *args.stream);
  }
  absl::Status Finish(const KernelArgs& args, const float* pack) const {
    if (job != nullptr) AMPC_RETURN_IF_ERROR(job->Finish(spec.bucket, *args.stream));
    return Unpack(args, pack);
  }
};

absl::StatusOr<Exchange> ReadExchange(const KernelSpec& kernel_spec) {
  const SpecView view(kernel_spec);
  Exchange exchange;
  AMPC_ASSIGN_OR_RETURN(exchange.spec, ReadExchangeSpec(view));
  const Communicator* processes = ProcessCommunicator();
  if (processes == nullptr || processes->size() == 1) return exchange;
  exchange.job = kernel_spec.device == nullptr ? nullptr : ProcessDeviceJob(*kernel_spec.device);
  if (exchange.job == nullptr) return view.Unsupported("the devices of the job's processes are not joined");
  AMPC_RETURN_IF_ERROR(exchange.job->Prepare(exchange.spec.bucket));
  return exchange;
}

KernelTraits Traits(const char* implementation) {
  KernelTraits traits;
  traits.implementation = implementation;
  traits.rounds_results = true;
  return traits;
}

// Results may lie where X does: it has been packed before they are written.
KernelTraits InPlace(const char* implementation, const Exchange& exchange) {
  KernelTraits traits = Traits(implementation);
  traits.in_place_input = exchange.spec.first_in;
  return traits;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSum(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(Exchange exchange, ReadExchange(spec));
  KernelTraits traits = InPlace("cuda:all_reduce", exchange);
  traits.workspace_bytes = exchange.spec.total * static_cast<int64_t>(sizeof(float));
  return MakeLambdaKernel(std::move(traits), [exchange = std::move(exchange)](const KernelArgs& args) {
    auto* pack = static_cast<float*>(args.workspace);
    AMPC_RETURN_IF_ERROR(exchange.Start(args, pack));
    return exchange.Finish(args, pack);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeStart(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(Exchange exchange, ReadExchange(spec));
  return MakeLambdaKernel(Traits("cuda:all_reduce_start"), [exchange = std::move(exchange)](const KernelArgs& args) {
    return exchange.Start(args, static_cast<float*>(args.outputs[0]));
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFinish(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(Exchange exchange, ReadExchange(spec));
  KernelTraits traits = InPlace("cuda:all_reduce_finish", exchange);
  return MakeLambdaKernel(std::move(traits), [exchange = std::move(exchange), pack = SpecView(spec).In("Pack")](const KernelArgs& args) {
    return exchange.Finish(args, static_cast<const float*>(args.inputs[pack]));
  });
}

}  // namespace

absl::Status RegisterAllReduce(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16};
  AMPC_RETURN_IF_ERROR(registry->Add({"c_allreduce_finish", &MakeFinish, {DType::kF32}}));  // its first operand is Pack
  AMPC_RETURN_IF_ERROR(registry->Add({"c_allreduce_start", &MakeStart, types}));
  return registry->Add({"c_allreduce_sum", &MakeSum, types});
}

}  // namespace ampc::cuda
