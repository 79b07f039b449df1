// A device's Kernel from a launcher.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/device/device.h"
#include "kernels/kernel.h"

namespace ampc {

// `launch` is `int(const KernelArgs& args, void* stream) const`: it enqueues and returns the launcher's code. As for MakeLambdaKernel it
// keeps nothing of the KernelSpec. traits.implementation is the kernel's name, "cuda:softmax".
template <typename F>
std::unique_ptr<Kernel> MakeDeviceKernel(KernelTraits traits, F launch) {
  traits.rounds_results = true;
  std::string name = traits.implementation;
  return MakeLambdaKernel(std::move(traits), [name = std::move(name), launch = std::move(launch)](const KernelArgs& args) {
    return args.stream->device().LaunchStatus(launch(args, args.stream->native()), name);
  });
}

}  // namespace ampc
