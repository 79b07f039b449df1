#include "kernels/halves.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "graph/base/aligned.h"
#include "graph/base/convert.h"
#include "graph/base/status_macros.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 15;

// A value as it is stored and as the kernel has it: in the workspace at `offset`; -1: where it lies.
struct Converted {
  DType stored = DType::kF32, made = DType::kF32;
  int64_t elements = 0, offset = -1;
};

std::vector<Converted> PlanRoom(const std::vector<TensorDesc>& made, const std::vector<TensorDesc>& stored, int64_t* bytes) {
  std::vector<Converted> all;
  for (size_t i = 0; i < stored.size(); ++i) {
    Converted c{stored[i].storage(), made[i].storage(), stored[i].NumElements(), -1};
    if (c.stored != c.made) c.offset = std::exchange(*bytes, *bytes + Aligned(made[i].StorageBytes()));
    all.push_back(c);
  }
  return all;
}

class ConvertedKernel final : public Kernel {
 public:
  ConvertedKernel(std::unique_ptr<Kernel> kernel, const KernelSpec& made, const KernelSpec& spec)
      : kernel_(std::move(kernel)), bytes_(Aligned(kernel_->workspace_bytes())), suffix_(HasHalves(made) ? ":halves" : ":widened") {
    inputs_ = PlanRoom(made.inputs, spec.inputs, &bytes_);
    outputs_ = PlanRoom(made.outputs, spec.outputs, &bytes_);
  }
  int64_t workspace_bytes() const override { return bytes_; }
  bool rounds_results() const override { return kernel_->rounds_results(); }
  bool consumes(int flat) const override { return kernel_->consumes(flat); }
  std::string implementation() const override { return kernel_->implementation() + suffix_; }

  absl::Status Run(const KernelArgs& args) const override {
    char* const ws = static_cast<char*>(args.workspace);
    absl::InlinedVector<const void*, 6> inputs(args.inputs.begin(), args.inputs.end());
    absl::InlinedVector<void*, 4> outputs(args.outputs.begin(), args.outputs.end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Converted& c = inputs_[i];
      if (c.offset < 0) continue;
      ConvertStored(inputs[i], c.stored, ws + c.offset, c.made, c.elements, args.threads);
      inputs[i] = ws + c.offset;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs_[i].offset >= 0) outputs[i] = ws + outputs_[i].offset;
    }
    AMPC_RETURN_IF_ERROR(Compute(inputs, outputs, args));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Converted& c = outputs_[i];
      if (c.offset >= 0) ConvertStored(ws + c.offset, c.made, args.outputs[i], c.stored, c.elements, args.threads);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Compute(absl::Span<const void* const> inputs, absl::Span<void* const> outputs, const KernelArgs& args) const {
    if (const int alias = kernel_->alias_input(); alias >= 0) {
      std::memcpy(outputs[0], inputs[alias], static_cast<size_t>(outputs_[0].elements) * SizeOf(outputs_[0].made));
      return absl::OkStatus();
    }
    return kernel_->Run({inputs, outputs, args.workspace, args.threads});
  }

  const std::unique_ptr<Kernel> kernel_;
  int64_t bytes_;
  const char* suffix_;
  std::vector<Converted> inputs_, outputs_;
};

}  // namespace

const float* FloatsAt(const void* data, DType storage, int64_t first, int64_t n, float* room) {
  if (storage == DType::kBF16) {
    BF16ToF32(static_cast<const BFloat16*>(data) + first, room, static_cast<size_t>(n));
    return room;
  }
  if (storage == DType::kF16) {
    F16ToF32(static_cast<const Half*>(data) + first, room, static_cast<size_t>(n));
    return room;
  }
  return static_cast<const float*>(data) + first;
}

void StoreFloats(const float* room, DType storage, int64_t first, int64_t n, void* data) {
  if (storage == DType::kBF16) F32ToBF16(room, static_cast<BFloat16*>(data) + first, static_cast<size_t>(n));
  if (storage == DType::kF16) F32ToF16(room, static_cast<Half*>(data) + first, static_cast<size_t>(n));
}

void ConvertStored(const void* from, DType from_storage, void* to, DType to_storage, int64_t n, int threads) {
  ParallelFor(threads, n, kGrain, [&](int64_t first, int64_t last) {
    if (from_storage == to_storage) {
      const int64_t size = static_cast<int64_t>(SizeOf(to_storage));
      std::memcpy(static_cast<char*>(to) + first * size, static_cast<const char*>(from) + first * size,
                  static_cast<size_t>((last - first) * size));
    } else if (to_storage == DType::kF32) {
      FloatsAt(from, from_storage, first, last - first, static_cast<float*>(to) + first);
    } else {
      StoreFloats(static_cast<const float*>(from) + first, to_storage, first, last - first, to);
    }
  });
}

bool HasHalves(const KernelSpec& spec) {
  const auto half = [](const TensorDesc& t) { return t.half; };
  return std::any_of(spec.inputs.begin(), spec.inputs.end(), half) || std::any_of(spec.outputs.begin(), spec.outputs.end(), half);
}

KernelSpec InFloats(KernelSpec spec) {
  for (TensorDesc& t : spec.inputs) t.half = false;
  for (TensorDesc& t : spec.outputs) t.half = false;
  return spec;
}

std::unique_ptr<Kernel> MakeWidened(std::unique_ptr<Kernel> kernel, const KernelSpec& spec) {
  return MakeConverted(std::move(kernel), InFloats(spec), spec);
}

std::unique_ptr<Kernel> MakeConverted(std::unique_ptr<Kernel> kernel, const KernelSpec& made, const KernelSpec& spec) {
  return std::make_unique<ConvertedKernel>(std::move(kernel), made, spec);
}

}  // namespace ampc
