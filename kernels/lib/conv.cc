#include "kernels/lib/conv.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "kernels/halves.h"
#include "kernels/kernel_choices.h"
#include "kernels/layout.h"
#include "kernels/lib/conv_choice.h"
#include "kernels/lib/conv_cut.h"
#include "kernels/lib/conv_descs.h"
#include "kernels/lib/conv_nan.h"
#include "kernels/lib/conv_phases.h"
#include "kernels/lib/kernel_name.h"
#include "kernels/lib/measure.h"
#include "kernels/lib/onednn_primitive.h"
#include "kernels/nan_watch.h"
#include "kernels/parallel.h"

namespace ampc::onednn {
namespace {

// oneDNN adds the residual wrongly in its SSE4.1 kernels; there the sum and the activation follow the convolution.
bool FusesResidual() { return dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx2; }

// A team of threads costs more than this many multiply-adds on one.
constexpr double kWorkOfOneThread = 1e5;

int UsefulThreads(const ConvSpec& s) { return Work(s) < kWorkOfOneThread ? 1 : s.threads; }

// Whether oneDNN's order of summation may depend on the number of threads: its gemm divides sums among threads (of transposed convolutions
// only long ones and those of volumes), its brgemm blocks long ones by them.
bool DependsOnThreads(const ConvSpec& s, const ConvChoice& c) {
  constexpr int64_t kShortSum = 256;  // half of the shortest sum that was seen to change with the number of threads
  const std::string name = ImplementationOf(c.pd.get());
  const int64_t per_output = s.in_c / s.groups * s.window();
  if (absl::StrContains(name, "gemm:")) return !s.transposed || s.in_c > 512 || s.axes.size() > 2;
  return absl::StartsWith(name, "brg") && c.descs.type == DType::kF32 && s.window() > 1 && per_output > kShortSum;
}

class OneDnnConv final : public Conv {
 public:
  static absl::StatusOr<std::unique_ptr<Conv>> Make(const ConvSpec& spec, const HostTensor* filter, WeightCache* cache) {
    std::unique_ptr<OneDnnConv> conv(new OneDnnConv(spec));
    ConvSpec fused = spec;
    if (spec.has_residual && !FusesResidual()) {
      conv->adds_residual_ = true;
      fused.has_residual = false;
      fused.activation = {};
    }
    conv->threads_ = UsefulThreads(spec);
    const ScopedThreads threads(conv->threads_);
    AMPC_ASSIGN_OR_RETURN(const ConvChoice c, ChooseConv(fused, fused));
    conv->implementation_ = NameOf(c.pd.get(), c.descs.type);
    conv->type_ = c.descs.type;
    conv->out_type_ = c.descs.out_type;
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc given, FilterDesc(spec, dnnl_f32, /*any=*/false));
    if (DependsOnThreads(fused, c)) {
      const ScopedThreads one(1);
      AMPC_ASSIGN_OR_RETURN(const ConvChoice alone, ChooseConv(fused, fused));
      if (filter != nullptr) AMPC_RETURN_IF_ERROR(conv->AddChannels(fused, alone, *filter, cache));
      if (conv->parts_.empty()) {
        AMPC_RETURN_IF_ERROR(conv->PrepareFilter(given, alone.descs.filter, filter, cache));
        AMPC_RETURN_IF_ERROR(conv->AddParts(fused, alone));
      }
    } else {
      AMPC_RETURN_IF_ERROR(conv->PrepareFilter(given, c.descs.filter, filter, cache));
      AMPC_RETURN_IF_ERROR(conv->Add(fused, c, 0, 0));
    }
    conv->PlanWorkspace(c.descs);
    return conv;
  }

  int64_t workspace_bytes() const override { return workspace_bytes_; }
  std::string implementation() const override { return implementation_; }
  bool may_add_in_place() const override { return sum_ && out_ < 0 && !BringsResidual(); }

  absl::Status Run(const ConvBuffers& b) const override {
    const ScopedThreads threads(threads_);
    char* const ws = static_cast<char*>(b.workspace);
    const void* in = b.in;
    if (in_ >= 0) {
      Bring(s_.in == Layout::kPlain, s_.in_c, s_.in_positions(), b.in, s_.in_storage, ws + in_, type_);
      in = ws + in_;
    }
    void* const out = out_ >= 0 ? ws + out_ : b.out;
    const void* residual = b.residual;
    if (BringsResidual() || (sum_ && out != residual)) {
      void* const to = sum_ ? out : ws + residual_;
      Bring(TransposesResidual(), s_.out_c, s_.out_positions(), b.residual, s_.residual_storage, to, out_type_);
      residual = to;
    }
    const void* filter = packed();
    if (repack_ != nullptr) {
      filter = ws + filter_;
      AMPC_RETURN_IF_ERROR(repack_->Execute({b.filter, filter, ws + scratchpad_}));
    }
    AMPC_RETURN_IF_ERROR(RunParts(in, filter, b, residual, out));
    if (adds_residual_) AddResidual(residual, out);
    if (out_ >= 0) Bring(s_.out == Layout::kPlain, s_.out_positions(), s_.out_c, out, out_type_, b.out, s_.out_storage);
    return absl::OkStatus();
  }

 private:
  explicit OneDnnConv(const ConvSpec& spec) : s_(spec) {}

  bool TransposesResidual() const { return s_.has_residual && s_.residual == Layout::kPlain && !Neutral(s_.out_c, s_.out_positions()); }

  // The residual is not read where it lies.
  bool BringsResidual() const { return TransposesResidual() || (s_.has_residual && s_.residual_storage != out_type_); }

  // Matrices of rows x cols, one for each of the batch, to another storage and, where they are `turned`, to columns.
  void Bring(bool turned, int64_t rows, int64_t cols, const void* from, DType from_storage, void* to, DType to_storage) const {
    if (turned) return TransposeStored(s_.threads, s_.batch, rows, cols, from, from_storage, to, to_storage);
    ConvertStored(from, from_storage, to, to_storage, s_.batch * rows * cols, s_.threads);
  }

  const void* packed() const { return packed_ == nullptr ? nullptr : packed_->data(); }

  absl::Status PrepareFilter(const MemoryDesc& given, const MemoryDesc& wanted, const HostTensor* filter, WeightCache* cache) {
    filter_bytes_ = Bytes(wanted);
    if (filter != nullptr) {
      AMPC_ASSIGN_OR_RETURN(packed_, Pack(*filter, 0, given, wanted, cache));
    } else {
      AMPC_ASSIGN_OR_RETURN(repack_, Primitive::CreateReorder(given, wanted));
    }
    return absl::OkStatus();
  }

  // Channels-last rows [in, out) of a part on the whole's filter.
  absl::Status Add(const ConvSpec& spec, const ConvChoice& c, int64_t in, int64_t out) {
    sum_ = c.descs.sum;
    AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const Primitive> primitive, MakePrimitive(spec, c, packed()));
    AddPart(std::move(primitive), spec.axes[axis_], in, out);
    return absl::OkStatus();
  }

  // `filter`: in the primitive's order, or null when it comes with every run. The scratchpad of a part grows to what it needs.
  absl::StatusOr<std::shared_ptr<const Primitive>> MakePrimitive(const ConvSpec& spec, const ConvChoice& c, const void* filter) {
    std::vector<Primitive::Arg> args = {
        {DNNL_ARG_SRC, c.descs.in}, {DNNL_ARG_WEIGHTS, c.descs.filter, filter}, {DNNL_ARG_DST, c.descs.out}};
    if (spec.has_bias) args.push_back({DNNL_ARG_BIAS, c.descs.bias});
    if (spec.has_residual && !c.descs.sum) args.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, c.descs.out});
    AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const Primitive> primitive, Primitive::Create(c.pd.get(), std::move(args)));
    scratchpad_bytes_ = std::max(scratchpad_bytes_, Aligned(primitive->scratchpad_bytes()));
    return primitive;
  }

  void AddPart(std::shared_ptr<const Primitive> primitive, const ConvSpec::Axis& rows, int64_t in, int64_t out) {
    parts_.push_back({std::move(primitive), rows.in, rows.out, rows.before, in, out});
  }

  // The primitive that a part of these rows runs; null before the first one.
  std::shared_ptr<const Primitive> SamePart(const ConvSpec::Axis& rows) const {
    for (const Part& p : parts_) {
      if (p.in_rows == rows.in && p.out_rows == rows.out && p.before == rows.before) return p.primitive;
    }
    return nullptr;
  }

  // Parts that compute some channels each, from a part of the filter; none where the whole had better not be cut so.
  absl::Status AddChannels(const ConvSpec& spec, const ConvChoice& whole, const HostTensor& filter, WeightCache* cache) {
    const int64_t channels = ChannelsOfPart(spec);
    if (channels == 0) return absl::OkStatus();
    ConvSpec part = spec;
    part.out_c = channels;
    AMPC_ASSIGN_OR_RETURN(const ConvChoice c, ChooseConv(part, spec));
    if (ImplementationOf(c.pd.get()) != ImplementationOf(whole.pd.get())) return absl::OkStatus();
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc given, FilterDesc(part, dnnl_f32, /*any=*/false));
    for (int64_t first = 0; first < spec.out_c; first += channels) {
      AMPC_ASSIGN_OR_RETURN(WeightCache::Packed packed, Pack(filter, first * spec.in_c * spec.window(), given, c.descs.filter, cache));
      AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const Primitive> primitive, MakePrimitive(part, c, packed->data()));
      parts_.push_back({std::move(primitive), 0, 0, 0, 0, first * spec.batch * spec.out_positions()});
      channel_filters_.push_back(std::move(packed));
    }
    channels_ = channels;
    return absl::OkStatus();
  }

  // The channels of a part, which lie together, to their places among those of all.
  void PlaceChannels(int64_t part, const char* from, char* out) const {
    const int64_t positions = s_.batch * s_.out_positions(), size = out_size();
    for (int64_t p = 0; p < positions; ++p) {
      std::memcpy(out + (p * s_.out_c + part * channels_) * size, from + p * channels_ * size, static_cast<size_t>(channels_ * size));
    }
  }

  // The parts of a cut, or the whole on one thread where a part needs the filter in another order.
  absl::Status AddParts(const ConvSpec& spec, const ConvChoice& whole) {
    axis_ = CutAxis(spec);
    for (const Rows& rows : CutRows(spec)) {
      if (const std::shared_ptr<const Primitive> same = SamePart(rows.spec.axes[axis_]); same != nullptr) {
        AddPart(same, rows.spec.axes[axis_], rows.in, rows.out);
        continue;
      }
      AMPC_ASSIGN_OR_RETURN(const ConvChoice c, ChooseConv(rows.spec, spec));
      if (ImplementationOf(c.pd.get()) != ImplementationOf(whole.pd.get()) || c.descs.sum != whole.descs.sum ||
          dnnl_memory_desc_equal(&c.descs.filter, &whole.descs.filter) == 0) {
        parts_.clear();
        threads_ = 1;
        return Add(spec, whole, 0, 0);
      }
      AMPC_RETURN_IF_ERROR(Add(rows.spec, c, rows.in, rows.out));
    }
    if (parts_.size() == 1) threads_ = 1;
    return absl::OkStatus();
  }

  absl::Status RunParts(const void* in, const void* filter, const ConvBuffers& b, const void* residual, void* out) const {
    char* const ws = static_cast<char*>(b.workspace);
    const auto run = [&](int64_t i) {
      const Part& p = parts_[i];
      char* const to = (channels_ > 0 ? ws + slices_ : static_cast<char*>(out)) + p.out * out_size();
      std::array<const void*, 6> buffers = {static_cast<const char*>(in) + p.in * static_cast<int64_t>(SizeOf(type_)), filter, to};
      size_t count = 3;
      if (s_.has_bias) buffers[count++] = b.bias + i * channels_;
      if (s_.has_residual && !adds_residual_ && !sum_) buffers[count++] = static_cast<const char*>(residual) + p.out * out_size();
      buffers[count++] = ws + scratchpad_ + i * scratchpad_bytes_;
      AMPC_RETURN_IF_ERROR(p.primitive->Execute(absl::MakeConstSpan(buffers.data(), count)));
      if (channels_ > 0) PlaceChannels(i, to, static_cast<char*>(out));
      return absl::OkStatus();
    };
    if (parts_.size() == 1) {
      AMPC_RETURN_IF_ERROR(run(0));
      if (b.met_nan != nullptr && TakeMetNanOf(threads_)) *b.met_nan = true;
      return absl::OkStatus();
    }
    std::atomic<bool> ok{true};
    ParallelFor(threads_, static_cast<int64_t>(parts_.size()), 1, [&](int64_t first, int64_t last) {
      const ScopedThreads one(1);
      for (int64_t i = first; i < last; ++i) {
        if (!run(i).ok()) ok = false;
      }
      if (b.met_nan != nullptr && TakeMetNan()) *b.met_nan = true;
    });
    return ok ? absl::OkStatus() : InternalError("oneDNN: a part of a convolution failed");
  }

  void PlanWorkspace(const ConvDescs& d) {
    const auto take = [this](int64_t bytes) {
      const int64_t at = workspace_bytes_;
      workspace_bytes_ += Aligned(bytes);
      return at;
    };
    const int64_t in_elements = s_.batch * s_.in_c * s_.in_positions();
    const bool out_neutral = Neutral(s_.out_c, s_.out_positions());
    const bool in_turned = s_.in == Layout::kPlain && !Neutral(s_.in_c, s_.in_positions());
    if (in_turned || s_.in_storage != type_) in_ = take(in_elements * static_cast<int64_t>(SizeOf(type_)));
    if (BringsResidual() && !sum_) residual_ = take(Bytes(d.out));
    if (channels_ > 0) slices_ = take(Bytes(d.out));
    if ((s_.out == Layout::kPlain && !out_neutral) || s_.out_storage != out_type_) out_ = take(Bytes(d.out));
    if (repack_ != nullptr) filter_ = take(filter_bytes_);
    const int64_t parts_bytes = scratchpad_bytes_ * static_cast<int64_t>(parts_.size());
    scratchpad_ = take(std::max(parts_bytes, repack_ == nullptr ? int64_t{0} : repack_->scratchpad_bytes()));
  }

  // Floats: a CPU that computes in bf16 lets oneDNN add.
  void AddResidual(const void* residual, void* out) const {
    const int64_t n = s_.batch * s_.out_c * s_.out_positions();
    const float* const from = static_cast<const float*>(residual);
    float* const to = static_cast<float*>(out);
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
    ApplyActivation(s_.activation, s_.threads, to, n);
  }

  int64_t out_size() const { return static_cast<int64_t>(SizeOf(out_type_)); }

  const ConvSpec s_;
  std::string implementation_;
  DType type_ = DType::kF32, out_type_ = DType::kF32;  // that the primitive reads and writes
  bool adds_residual_ = false;
  bool sum_ = false;                   // the primitive adds to what the result's memory holds: first the residual is put there
  WeightCache::Packed packed_;         // the filter in the primitive's order; null when it comes with every run
  std::unique_ptr<Primitive> repack_;  // then from the given order
  struct Part {
    std::shared_ptr<const Primitive> primitive;
    int64_t in_rows, out_rows, before;
    int64_t in, out;  // first elements
  };
  std::vector<Part> parts_;  // one that oneDNN divides among threads_, or several of one thread each
  int64_t channels_ = 0;     // of a part that computes some channels; 0 where parts are rows
  std::vector<WeightCache::Packed> channel_filters_;
  size_t axis_ = 0;  // that parts are cut along
  int threads_ = 1;
  int64_t filter_bytes_ = 0, scratchpad_bytes_ = 0;  // of one part
  // Offsets in the workspace; -1 for what is used where it lies.
  int64_t in_ = -1, residual_ = -1, slices_ = -1, out_ = -1, filter_ = -1, scratchpad_ = 0;
  int64_t workspace_bytes_ = 0;
};

// The implementation that computes made-up operands fastest.
absl::StatusOr<std::string> Measure(ConvSpec spec, const HostTensor* filter) {
  spec.choices = nullptr;
  AMPC_ASSIGN_OR_RETURN(std::vector<std::string> names, ConvImplementations(spec));
  const auto bytes = [](int64_t elements, DType type) { return elements * static_cast<int64_t>(SizeOf(type)); };
  const int64_t out = spec.batch * spec.out_c * spec.out_positions();
  MadeOperands made;
  ConvBuffers b;
  AMPC_ASSIGN_OR_RETURN(b.in, made.Add(bytes(spec.batch * spec.in_c * spec.in_positions(), spec.in_storage)));
  AMPC_ASSIGN_OR_RETURN(void* const weights, made.Add(bytes(spec.in_c * spec.out_c / spec.groups * spec.window(), DType::kF32)));
  AMPC_ASSIGN_OR_RETURN(void* const bias, made.Add(bytes(spec.out_c, DType::kF32)));
  AMPC_ASSIGN_OR_RETURN(b.residual, made.Add(bytes(spec.has_residual ? out : 0, spec.residual_storage)));
  AMPC_ASSIGN_OR_RETURN(b.out, made.Add(bytes(out, spec.out_storage)));
  b.filter = static_cast<const float*>(weights);
  b.bias = static_cast<const float*>(bias);
  return FastestOf(std::move(names), b, &made, [&](const std::string& name) {
    spec.implementation = name;
    return OneDnnConv::Make(spec, filter, nullptr);
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Conv>> MakeConv(const ConvSpec& given, const HostTensor* filter, WeightCache* cache) {
  if (filter != nullptr && given.transposed) {
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Conv> phases, MakePhases(given, *filter, cache));
    if (phases != nullptr) return phases;
  }
  ConvSpec spec = given;
  if (spec.choices != nullptr) {
    AMPC_ASSIGN_OR_RETURN(spec.implementation,
                          spec.choices->Get(ShapeText(spec, filter != nullptr), [&] { return Measure(spec, filter); }));
    spec.choices = nullptr;
  }
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Conv> conv, OneDnnConv::Make(spec, filter, cache));
  return MayLoseNan(spec.activation) ? KeepNan(std::move(conv), spec, filter, cache) : std::move(conv);
}

}  // namespace ampc::onednn
