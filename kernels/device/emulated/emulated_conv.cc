#include "kernels/device/emulated/emulated_conv.h"

#include "graph/base/error.h"

namespace ampc {
namespace {

class EmulatedConv : public ConvLibrary {
 public:
  absl::StatusOr<std::shared_ptr<const ConvPlan>> Plan(const ConvDesc&, int64_t) override {
    return UnsupportedError("emulated device: convolutions are not emulated");
  }
};

}  // namespace

std::unique_ptr<ConvLibrary> NewEmulatedConv() { return std::make_unique<EmulatedConv>(); }

}  // namespace ampc
