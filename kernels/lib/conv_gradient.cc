#include "kernels/lib/conv_gradient.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/convert.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/layout.h"
#include "kernels/lib/conv_descs.h"
#include "kernels/lib/onednn_primitive.h"
#include "kernels/parallel.h"

namespace ampc::onednn {
namespace {

struct Choice {
  PrimitiveDesc pd;
  MemoryDesc in, out, filter;
  bool bf16 = false;
};

absl::StatusOr<Choice> Choose(const ConvSpec& s, dnnl_data_type_t type) {
  Choice c;
  c.bf16 = type == dnnl_bf16;
  AMPC_ASSIGN_OR_RETURN(c.in, ActivationDesc(s.batch, s.in_c, Each(s, [](const auto& a) { return a.in; }), type));
  AMPC_ASSIGN_OR_RETURN(c.out, ActivationDesc(s.batch, s.out_c, Each(s, [](const auto& a) { return a.out; }), type));
  AMPC_ASSIGN_OR_RETURN(c.filter, FilterDesc(s, dnnl_f32, /*any=*/true));
  const Sizes strides = Each(s, [](const auto&a) { return a.stride; }), dilates = Each(s, [](const auto&a) { return a.dilation - 1; });
  const Sizes before = Each(s, [](const auto&a) { return a.before; }), after = Each(s, [](const auto&a) { return a.after; });
  AMPC_ASSIGN_OR_RETURN(const Attr attr, MakeAttr(nullptr));
  // The filter's type in the forward direction, which the gradient only takes as a hint, is that of the operands.
  AMPC_ASSIGN_OR_RETURN(const MemoryDesc forward_filter, FilterDesc(s, type, /*any=*/true));
  dnnl_convolution_desc_t forward, backward;
  AMPC_DNNL_CALL(dnnl_dilated_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct, &c.in,
                                                            &forward_filter, nullptr, &c.out, strides.data(), dilates.data(), before.data(),
                                                            after.data()));
  AMPC_ASSIGN_OR_RETURN(const PrimitiveDesc hint, MakePrimitiveDesc(&forward, attr.get()));
  if (hint == nullptr) return c;
  AMPC_DNNL_CALL(dnnl_dilated_convolution_backward_weights_desc_init(&backward, dnnl_convolution_direct, &c.in, &c.filter, nullptr, &c.out,
                                                                     strides.data(), dilates.data(), before.data(), after.data()));
  AMPC_ASSIGN_OR_RETURN(c.pd, MakePrimitiveDesc(&backward, attr.get(), hint.get()));
  if (c.pd != nullptr) c.filter = QueryDesc(c.pd.get(), dnnl_query_diff_weights_md);
  return c;
}

absl::StatusOr<Choice> ChooseBest(const ConvSpec& s) {
  AMPC_ASSIGN_OR_RETURN(Choice c, ChooseType(s, Choose));
  if (c.pd == nullptr) return UnsupportedError("oneDNN has no gradient of a convolution's filter for this shape");
  return c;
}

// Images of a part.
int64_t PartSize(const ConvSpec& s) {
  constexpr double kLeastWork = 2e6;          // multiply-adds of a part
  constexpr int64_t kMostElements = 8 << 20;  // of the filters of all parts
  constexpr int64_t kMostParts = 16;
  const int64_t filter = s.out_c * (s.in_c / s.groups) * s.window();
  const int64_t parts = std::min({kMostParts, s.batch, std::max<int64_t>(1, static_cast<int64_t>(Work(s) / kLeastWork)),
                                  std::max<int64_t>(2, kMostElements / filter)});
  return (s.batch + parts - 1) / parts;
}

class OneDnnFilterGradient final : public FilterGradient {
 public:
  static absl::StatusOr<std::unique_ptr<FilterGradient>> Make(const ConvSpec& spec) {
    std::unique_ptr<OneDnnFilterGradient> g(new OneDnnFilterGradient(spec));
    const ScopedThreads one(1);
    ConvSpec part = spec;
    part.batch = PartSize(spec);
    AMPC_ASSIGN_OR_RETURN(const Choice c, ChooseBest(part));
    g->bf16_ = c.bf16;
    g->implementation_ = absl::StrCat("onednn:", ImplementationOf(c.pd.get()), c.bf16 ? ":bf16" : "");
    AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const Primitive> primitive, g->Compile(c));
    for (int64_t first = 0; first < spec.batch; first += part.batch) {
      if (spec.batch - first < part.batch) {  // the last part is shorter
        part.batch = spec.batch - first;
        AMPC_ASSIGN_OR_RETURN(const Choice rest, Choose(part, c.bf16 ? dnnl_bf16 : dnnl_f32));
        if (rest.pd == nullptr || dnnl_memory_desc_equal(&rest.filter, &c.filter) == 0) {
          return InternalError("oneDNN orders the gradients of a filter by the batch");
        }
        AMPC_ASSIGN_OR_RETURN(primitive, g->Compile(rest));
      }
      g->parts_.push_back({primitive, first});
    }
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc wanted, FilterDesc(spec, dnnl_f32, /*any=*/false));
    if (dnnl_memory_desc_equal(&wanted, &c.filter) == 0) {
      AMPC_ASSIGN_OR_RETURN(g->unpack_, Primitive::CreateReorder(c.filter, wanted));
      g->scratchpad_bytes_ = std::max(g->scratchpad_bytes_, Aligned(g->unpack_->scratchpad_bytes()));
    }
    g->filter_bytes_ = Aligned(Bytes(c.filter));
    g->PlanWorkspace();
    return g;
  }

  int64_t workspace_bytes() const override { return workspace_bytes_; }
  std::string implementation() const override { return implementation_; }

  absl::Status Run(const float* in, const float* out, float* filter, void* workspace) const override {
    char* const ws = static_cast<char*>(workspace);
    const void* const a = Prepare(in, s_.in_c, s_.in_positions(), in_f32_, in_bf16_, ws);
    const void* const b = Prepare(out, s_.out_c, s_.out_positions(), out_f32_, out_bf16_, ws);
    AMPC_RETURN_IF_ERROR(RunParts(a, b, filter, ws));
    AddParts(filter, ws);
    if (unpack_ == nullptr) return absl::OkStatus();
    const ScopedThreads threads(s_.threads);
    return unpack_->Execute({FilterOf(0, filter, ws), filter, ws + scratchpad_});
  }

 private:
  struct Part {
    std::shared_ptr<const Primitive> primitive;
    int64_t first;  // image
  };

  explicit OneDnnFilterGradient(const ConvSpec& spec) : s_(spec) {}

  absl::StatusOr<std::shared_ptr<const Primitive>> Compile(const Choice& c) {
    AMPC_ASSIGN_OR_RETURN(
        std::shared_ptr<const Primitive> primitive,
        Primitive::Create(c.pd.get(), {{DNNL_ARG_SRC, c.in}, {DNNL_ARG_DIFF_DST, c.out}, {DNNL_ARG_DIFF_WEIGHTS, c.filter}}));
    scratchpad_bytes_ = std::max(scratchpad_bytes_, Aligned(primitive->scratchpad_bytes()));
    return primitive;
  }

  // Channels last, in the type of the primitive.
  const void* Prepare(const float* x, int64_t channels, int64_t positions, int64_t f32, int64_t bf16, char* ws) const {
    if (f32 >= 0) {
      float* to = reinterpret_cast<float*>(ws + f32);
      Transpose2D(s_.threads, s_.batch, channels, positions, x, to);
      x = to;
    }
    if (bf16 < 0) return x;
    BFloat16* to = reinterpret_cast<BFloat16*>(ws + bf16);
    ParallelFor(s_.threads, s_.batch * channels * positions, 1 << 15,
                [&](int64_t first, int64_t last) { F32ToBF16(x + first, to + first, static_cast<size_t>(last - first)); });
    return to;
  }

  // The first part's is the result itself where that has the same order.
  float* FilterOf(int64_t part, float* filter, char* ws) const {
    if (part == 0 && unpack_ == nullptr) return filter;
    return reinterpret_cast<float*>(ws + filters_ + part * filter_bytes_);
  }

  absl::Status RunParts(const void* in, const void* out, float* filter, char* ws) const {
    std::atomic<bool> ok{true};
    const int64_t size = bf16_ ? 2 : 4, in_image = s_.in_c * s_.in_positions() * size, out_image = s_.out_c * s_.out_positions() * size;
    ParallelFor(s_.threads, static_cast<int64_t>(parts_.size()), 1, [&](int64_t first, int64_t last) {
      const ScopedThreads one(1);
      for (int64_t i = first; i < last; ++i) {
        const Part& p = parts_[i];
        const absl::Status status =
            p.primitive->Execute({static_cast<const char*>(in) + p.first * in_image, static_cast<const char*>(out) + p.first * out_image,
                                  FilterOf(i, filter, ws), ws + scratchpad_ + i * scratchpad_bytes_});
        if (!status.ok()) ok = false;
      }
    });
    return ok ? absl::OkStatus() : InternalError("oneDNN: a part of a filter's gradient failed");
  }

  // To the first, one part after the other.
  void AddParts(float* filter, char* ws) const {
    if (parts_.size() == 1) return;
    float* const to = FilterOf(0, filter, ws);
    ParallelFor(s_.threads, filter_bytes_used() / 4, 1 << 12, [&](int64_t first, int64_t last) {
      for (int64_t p = 1; p < static_cast<int64_t>(parts_.size()); ++p) {
        const float* from = FilterOf(p, filter, ws);
        for (int64_t i = first; i < last; ++i) to[i] += from[i];
      }
    });
  }

  // Padding of blocked orders counts; without unpack_ there is none.
  int64_t filter_bytes_used() const {
    return unpack_ != nullptr ? filter_bytes_ : s_.out_c * (s_.in_c / s_.groups) * s_.window() * static_cast<int64_t>(sizeof(float));
  }

  void PlanWorkspace() {
    const auto take = [this](int64_t bytes) {
      const int64_t at = workspace_bytes_;
      workspace_bytes_ += Aligned(bytes);
      return at;
    };
    const int64_t in = s_.batch * s_.in_c * s_.in_positions(), out = s_.batch * s_.out_c * s_.out_positions();
    if (s_.in == Layout::kPlain && !Neutral(s_.in_c, s_.in_positions())) in_f32_ = take(in * 4);
    if (s_.out == Layout::kPlain && !Neutral(s_.out_c, s_.out_positions())) out_f32_ = take(out * 4);
    if (bf16_) {
      in_bf16_ = take(in * 2);
      out_bf16_ = take(out * 2);
    }
    const int64_t parts = static_cast<int64_t>(parts_.size());
    if (parts > 1 || unpack_ != nullptr) filters_ = take(parts * filter_bytes_);
    scratchpad_ = take(parts * scratchpad_bytes_);
  }

  const ConvSpec s_;
  std::string implementation_;
  bool bf16_ = false;
  std::vector<Part> parts_;
  std::unique_ptr<Primitive> unpack_;                // from the primitive's order to the given one; null where they are the same
  int64_t filter_bytes_ = 0, scratchpad_bytes_ = 0;  // of one part
  // Offsets in the workspace; -1 for what is used where it lies.
  int64_t in_f32_ = -1, out_f32_ = -1, in_bf16_ = -1, out_bf16_ = -1, filters_ = -1, scratchpad_ = 0;
  int64_t workspace_bytes_ = 0;
};

}  // namespace

ConvSpec Mirrored(const ConvSpec& spec) {
  ConvSpec m = spec;
  std::swap(m.in_c, m.out_c);
  std::swap(m.in, m.out);
  m.transposed = !spec.transposed;
  m.has_bias = m.has_residual = false;
  m.activation = {};
  for (ConvSpec::Axis& a : m.axes) {
    std::swap(a.in, a.out);
    a.after = std::max<int64_t>(a.after, 0);  // positions that no window reaches need no cut
  }
  return m;
}

absl::StatusOr<std::unique_ptr<FilterGradient>> MakeFilterGradient(const ConvSpec& spec) { return OneDnnFilterGradient::Make(spec); }

}  // namespace ampc::onednn
