// A Kernel whose Run is a closure over what was prepared.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/kernel_registry.h"

namespace ampc {

struct KernelTraits {
  std::string implementation = "ampc:plain";
  bool rounds_results = false;
  int in_place_input = -1;
  int alias_input = -1;
  int64_t workspace_bytes = 0;
};

// `run` is `absl::Status(const KernelArgs&) const`; it must not keep pointers into the KernelSpec, which dies before it.
template <typename F>
std::unique_ptr<Kernel> MakeLambdaKernel(KernelTraits traits, F run) {
  class LambdaKernel final : public Kernel {
   public:
    LambdaKernel(KernelTraits traits, F run) : traits_(std::move(traits)), run_(std::move(run)) {}
    absl::Status Run(const KernelArgs& args) const override { return run_(args); }
    int64_t workspace_bytes() const override { return traits_.workspace_bytes; }
    bool rounds_results() const override { return traits_.rounds_results; }
    int in_place_input() const override { return traits_.in_place_input; }
    int alias_input() const override { return traits_.alias_input; }
    std::string implementation() const override { return traits_.implementation; }

   private:
    const KernelTraits traits_;
    const F run_;
  };
  return std::make_unique<LambdaKernel>(std::move(traits), std::move(run));
}

}  // namespace ampc
