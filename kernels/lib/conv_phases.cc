#include "kernels/lib/conv_phases.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/aligned.h"
#include "graph/base/status_macros.h"
#include "kernels/lasting_tensor.h"
#include "kernels/layout.h"
#include "kernels/lib/conv_descs.h"
#include "kernels/parallel.h"

namespace ampc::onednn {
namespace {

constexpr int64_t kMostPhases = 32;
constexpr double kLeastWork = 2e5;   // multiply-adds, below which the results are not worth being put apart
constexpr int64_t kGrain = 1 << 15;  // bytes of a thread

// Along one axis: results first, first + stride, ... are those of a convolution with every stride-th tap from `tap` on, from the last to
// the first.
struct Phase {
  int64_t first, tap;
  ConvSpec::Axis axis;
};

// None where a result has no tap, or where the convolution would leave out the operand's first elements.
std::vector<Phase> PhasesOf(const ConvSpec::Axis& a) {
  std::vector<Phase> phases;
  if (a.before < 0) return phases;
  for (int64_t first = 0; first < std::min(a.stride, a.out); ++first) {
    const int64_t tap = (first + a.before) % a.stride, behind = (first + a.before) / a.stride;
    ConvSpec::Axis axis;
    axis.in = a.in;
    axis.out = (a.out - first + a.stride - 1) / a.stride;
    axis.kernel = (a.kernel - tap + a.stride - 1) / a.stride;
    axis.before = axis.kernel - 1 - behind;
    axis.after = axis.out + axis.kernel - 1 - axis.before - axis.in;
    if (a.dilation != 1 || tap >= a.kernel || axis.before < 0 || axis.after < 0) return {};
    phases.push_back({first, tap, axis});
  }
  return phases;
}

// [out_c, in_c, taps of the phase] from `filter` [in_c, out_c, window].
absl::StatusOr<WeightCache::Packed> FilterOf(const ConvSpec& s, const HostTensor& filter, absl::Span<const Phase> phase) {
  int64_t taps = 1;
  for (const Phase& p : phase) taps *= p.axis.kernel;
  AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<HostTensor> part, CreateLasting(DType::kF32, {s.out_c, s.in_c, taps}));
  const float* const from = filter.values<float>().data();
  float* const to = part->mutable_values<float>().data();
  for (int64_t t = 0; t < taps; ++t) {
    int64_t at = 0, step = 1, rest = t;
    for (size_t d = phase.size(); d-- > 0; rest /= phase[d].axis.kernel) {
      at += (phase[d].tap + (phase[d].axis.kernel - 1 - rest % phase[d].axis.kernel) * s.axes[d].stride) * step;
      step *= s.axes[d].kernel;
    }
    for (int64_t o = 0; o < s.out_c; ++o) {
      for (int64_t i = 0; i < s.in_c; ++i) to[(o * s.in_c + i) * taps + t] = from[(i * s.out_c + o) * step + at];
    }
  }
  return part;
}

// `count` elements of `size` bytes, one behind the other, to places `step` bytes apart.
template <int64_t kSize>
void Spread(const char* from, int64_t count, int64_t size, int64_t step, char* to) {
  if (kSize > 0) size = kSize;
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * step, from + i * size, static_cast<size_t>(size));
}

void Spread(const char* from, int64_t count, int64_t size, int64_t step, char* to) {
  const auto spread = size == 16    ? &Spread<16>
                      : size == 32  ? &Spread<32>
                      : size == 64  ? &Spread<64>
                      : size == 128 ? &Spread<128>
                                    : &Spread<0>;
  spread(from, count, size, step, to);
}

class PhasedConv final : public Conv {
 public:
  static absl::StatusOr<std::unique_ptr<Conv>> Make(const ConvSpec& spec, std::vector<std::vector<Phase>> axes, const HostTensor& filter,
                                                    WeightCache* cache) {
    std::unique_ptr<PhasedConv> conv(new PhasedConv(spec));
    if (conv->TurnsIn())
      conv->in_bytes_ = Aligned(spec.batch * spec.in_c * spec.in_positions() * static_cast<int64_t>(SizeOf(spec.in_storage)));
    if (conv->TurnsOut()) conv->out_bytes_ = Aligned(spec.batch * spec.out_c * spec.out_positions() * conv->size());
    int64_t number = 1;
    for (const std::vector<Phase>& phases : axes) number *= static_cast<int64_t>(phases.size());
    WeightCache* const kept = cache != nullptr && cache->CanRead(&filter) ? cache : nullptr;
    for (int64_t k = 0; k < number; ++k) {
      std::vector<Phase> phase;
      int64_t rest = k;
      for (const std::vector<Phase>& phases : axes) {
        phase.push_back(phases[rest % phases.size()]);
        rest /= static_cast<int64_t>(phases.size());
      }
      AMPC_RETURN_IF_ERROR(conv->Add(std::move(phase), filter, kept));
    }
    return conv;
  }

  int64_t workspace_bytes() const override { return in_bytes_ + out_bytes_ + results_bytes_ + parts_bytes_; }
  std::string implementation() const override { return absl::StrCat(parts_[0].conv->implementation(), ":phases"); }
  bool may_add_in_place() const override { return false; }

  absl::Status Run(const ConvBuffers& b) const override {
    char* const in = static_cast<char*>(b.workspace);
    char* const results = in + in_bytes_ + out_bytes_;
    char* const out = TurnsOut() ? in + in_bytes_ : static_cast<char*>(b.out);
    if (TurnsIn()) TransposeStored(s_.threads, s_.batch, s_.in_c, s_.in_positions(), b.in, s_.in_storage, in, s_.in_storage);
    for (const Part& part : parts_) {
      ConvBuffers own = b;
      if (TurnsIn()) own.in = in;
      own.filter = part.filter->values<float>().data();
      own.out = parts_.size() == 1 ? out : results;
      own.workspace = results + results_bytes_;
      AMPC_RETURN_IF_ERROR(part.conv->Run(own));
      if (parts_.size() > 1) Place(part, results, out);
    }
    if (TurnsOut()) TransposeStored(s_.threads, s_.batch, s_.out_positions(), s_.out_c, out, s_.out_storage, b.out, s_.out_storage);
    return absl::OkStatus();
  }

 private:
  struct Part {
    std::vector<Phase> phase;  // of each axis
    WeightCache::Packed filter;
    std::unique_ptr<Conv> conv;
  };

  explicit PhasedConv(const ConvSpec& spec) : s_(spec) {}

  absl::Status Add(std::vector<Phase> phase, const HostTensor& filter, WeightCache* kept) {
    ConvSpec part = s_;
    part.transposed = false;
    part.in = part.out = Layout::kChannelsLast;
    part.axes.clear();
    std::string format = "phase";
    for (const Phase& p : phase) {
      part.axes.push_back(p.axis);
      absl::StrAppend(&format, " ", p.tap, "/", s_.axes[part.axes.size() - 1].stride);
    }
    AMPC_ASSIGN_OR_RETURN(WeightCache::Packed own, GetPacked(kept, &filter, format, [&] { return FilterOf(s_, filter, phase); }));
    if (kept != nullptr) kept->AddLasting(own.get());
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Conv> conv, MakeConv(part, own.get(), kept));
    results_bytes_ = std::max(results_bytes_, Aligned(s_.batch * s_.out_c * part.out_positions() * size()));
    parts_bytes_ = std::max(parts_bytes_, conv->workspace_bytes());
    parts_.push_back({std::move(phase), std::move(own), std::move(conv)});
    return absl::OkStatus();
  }

  // The results of a part to their places among those of all, row by row.
  void Place(const Part& part, const char* results, char* out) const {
    const size_t rank = part.phase.size();
    const Phase& columns = part.phase[rank - 1];
    const int64_t element = s_.out_c * size(), width = columns.axis.out, stride = s_.axes[rank - 1].stride;
    int64_t rows = s_.batch;
    for (size_t d = 0; d + 1 < rank; ++d) rows *= part.phase[d].axis.out;
    ParallelFor(s_.threads, rows, std::max<int64_t>(1, kGrain / (width * element)), [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        int64_t rest = row, place = 0, step = 1;
        for (size_t d = rank - 1; d-- > 0; rest /= part.phase[d].axis.out) {
          place += (rest % part.phase[d].axis.out * s_.axes[d].stride + part.phase[d].first) * step;
          step *= s_.axes[d].out;
        }
        place += rest * step;
        Spread(results + row * width * element, width, element, stride * element,
               out + (place * s_.axes[rank - 1].out + columns.first) * element);
      }
    });
  }

  bool TurnsIn() const { return s_.in == Layout::kPlain && !Neutral(s_.in_c, s_.in_positions()); }
  bool TurnsOut() const { return s_.out == Layout::kPlain && !Neutral(s_.out_c, s_.out_positions()); }
  int64_t size() const { return static_cast<int64_t>(SizeOf(s_.out_storage)); }

  const ConvSpec s_;
  std::vector<Part> parts_;
  // Of the workspace: the operand and the result with channels last, the results of a part, its own.
  int64_t in_bytes_ = 0, out_bytes_ = 0, results_bytes_ = 0, parts_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Conv>> MakePhases(const ConvSpec& spec, const HostTensor& filter, WeightCache* cache) {
  if (!spec.transposed || spec.groups != 1 || Work(spec) < kLeastWork) return nullptr;
  std::vector<std::vector<Phase>> axes;
  int64_t number = 1;
  for (const ConvSpec::Axis& a : spec.axes) {
    axes.push_back(PhasesOf(a));
    number *= static_cast<int64_t>(axes.back().size());
    if (number == 0 || number > kMostPhases) return nullptr;
  }
  absl::StatusOr<std::unique_ptr<Conv>> conv = PhasedConv::Make(spec, std::move(axes), filter, cache);
  if (absl::IsUnimplemented(conv.status())) return nullptr;
  return conv;
}

}  // namespace ampc::onednn
