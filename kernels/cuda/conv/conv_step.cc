#include "kernels/cuda/conv/conv_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/base/volume.h"
#include "kernels/cuda/conv/conv_code.h"
#include "kernels/device/missing_library.h"

namespace ampc::cuda {
namespace {

using onednn::ConvSpec;

constexpr int64_t kAlignment = 256;  // of the library's workspace and what lies beside it

int64_t WorkspaceLimit(const Device& device) { return std::min(int64_t{1} << 30, device.info().memory_bytes / 16); }

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Both layouts are the same bytes.
bool Neutral(int64_t c, int64_t positions) { return c == 1 || positions == 1; }

// The tensor [n, c, axes...] of spec.axes[i].*size.
Volume Tensor(DType type, int64_t n, int64_t c, const ConvSpec& s, int64_t ConvSpec::Axis::*size, bool channels_last) {
  Volume t;
  t.type = type;
  t.n = n;
  t.c = c;
  t.channels_last = channels_last;
  const size_t skip = 3 - s.axes.size();
  for (size_t i = 0; i < s.axes.size(); ++i) t.size[skip + i] = s.axes[i].*size;
  SetStrides(&t);
  return t;
}

DirectConv Direct(const ConvTask& task) {
  const ConvSpec& s = task.conv;
  using Axis = ConvSpec::Axis;
  DirectConv d;
  d.x = Tensor(task.type, s.batch, s.in_c, s, &Axis::in, s.in == Layout::kChannelsLast);
  d.y = Tensor(task.type, s.batch, s.out_c, s, &Axis::out, s.out == Layout::kChannelsLast);
  d.w = Tensor(task.filter_type, s.out_c, s.in_c / s.groups, s, &Axis::kernel, false);
  d.groups = s.groups;
  const size_t skip = 3 - s.axes.size();
  for (size_t i = 0; i < s.axes.size(); ++i) {
    d.step[skip + i] = s.axes[i].stride;
    d.dilation[skip + i] = s.axes[i].dilation;
    d.before[skip + i] = s.axes[i].before;
  }
  return d;
}

ConvEpilogue EpilogueOf(const ConvTask& task, const ConvArgs& args) {
  const ConvSpec& s = task.conv;
  ConvEpilogue e;
  e.bias_type = task.bias_type;
  e.activation = task.activation;
  if (task.bias) e.bias = args.bias;
  if (task.residual) {
    e.residual = Tensor(task.type, s.batch, s.out_c, s, &ConvSpec::Axis::out, task.residual_layout == Layout::kChannelsLast);
    e.residual.data = const_cast<void*>(args.residual);  // device code does not write it
  }
  return e;
}

bool HasEpilogue(const ConvTask& task) {
  const Activation& a = task.activation;
  return task.bias || task.residual || a.kind != ActivationKind::kNone || a.scale != 1 || a.shift != 0;
}

// A tensor on the device that a kernel keeps.
absl::StatusOr<std::shared_ptr<void>> CopyToDevice(Device& device, const void* from, int64_t bytes) {
  AMPC_ASSIGN_OR_RETURN(void* const memory, device.AllocateRaw(bytes));
  std::shared_ptr<void> owner(memory, [&device](void* m) { device.FreeRaw(m); });
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream());
  AMPC_RETURN_IF_ERROR(stream->CopyToDevice(memory, from, bytes));
  AMPC_RETURN_IF_ERROR(stream->Synchronize());
  return owner;
}

// The filter in another type and order: [o, window, i] where channels lie last.
template <class T>
std::vector<T> PackFilter(const HostTensor& filter, int64_t o, int64_t i, int64_t window, bool channels_last) {
  const auto values = filter.values<float>();
  std::vector<T> packed(values.size());
  for (int64_t n = 0; n < o * i * window; ++n) {
    const int64_t at = channels_last ? n / (i * window) * i * window + n % window * i + n / window % i : n;
    packed[at] = T(values[n]);
  }
  return packed;
}

class DirectStep final : public ConvStep {
 public:
  // `reason`: why the library does not compute it; "" where it is not asked.
  static absl::StatusOr<std::unique_ptr<ConvStep>> Make(const ConvTask& task, Device& device, const HostTensor* filter,
                                                        std::string reason) {
    std::unique_ptr<DirectStep> step(new DirectStep(task, device, std::move(reason)));
    if (step->packed_ && filter != nullptr && filter->num_elements() > 0) {
      const std::vector<float> packed = PackFilter<float>(*filter, 1, task.conv.out_c, task.conv.window(), true);
      AMPC_ASSIGN_OR_RETURN(step->filter_, CopyToDevice(device, packed.data(), static_cast<int64_t>(packed.size() * sizeof(float))));
    }
    return step;
  }

  int64_t workspace_bytes() const override {
    if (task_.kind == ConvKind::kFilterGradient) return DirectFilterPartialBytes(conv_);
    return packed_ && filter_ == nullptr ? task_.conv.out_c * task_.conv.window() * static_cast<int64_t>(sizeof(float)) : 0;
  }
  std::string implementation() const override {
    return absl::StrCat(packed_ ? "cuda:depthwise" : "cuda:conv_direct", reason_.empty() ? "" : " because ", reason_);
  }
  bool owns_filter() const override { return filter_ != nullptr; }

  absl::Status Run(Stream& stream, const ConvArgs& args) const override {
    DirectConv conv = conv_;
    conv.x.data = args.x;
    conv.w.data = args.w;
    conv.y.data = args.y;
    const ConvEpilogue epilogue = EpilogueOf(task_, args);
    const bool forward = task_.kind == ConvKind::kForward;
    void* const native = stream.native();
    int code = 0;
    if (packed_ && IsDepthwisePacked(conv)) {
      const void* const filter = filter_ != nullptr ? filter_.get() : args.workspace;
      if (filter_ == nullptr) {
        code =
            LaunchConvTranspose(native, 1, task_.conv.out_c, task_.conv.window(), task_.filter_type, args.w, DType::kF32, args.workspace);
      }
      if (code == 0) code = LaunchDepthwisePacked(native, conv, forward, epilogue, static_cast<const float*>(filter));
    } else if (task_.kind == ConvKind::kFilterGradient) {
      code = LaunchDirectFilterGradient(native, conv, args.workspace);
    } else {
      code = forward ? LaunchDirectForward(native, conv, epilogue) : LaunchDirectInputGradient(native, conv, epilogue);
    }
    return device_.LaunchStatus(code, implementation());
  }

 private:
  DirectStep(const ConvTask& task, Device& device, std::string reason)
      : task_(task),
        conv_(Direct(task)),
        packed_(task.kind != ConvKind::kFilterGradient && IsDepthwisePacked(conv_)),
        device_(device),
        reason_(std::move(reason)) {}

  const ConvTask task_;
  const DirectConv conv_;
  const bool packed_;
  Device& device_;
  const std::string reason_;
  std::shared_ptr<void> filter_;  // on the device, in packs; null: the one of each run
};

// The desc of the bare convolution; both activations in the layout of the desc.
ConvDesc DescOf(const ConvTask& task, bool channels_last) {
  const ConvSpec& s = task.conv;
  ConvDesc d;
  d.kind = task.kind;
  d.type = task.type;
  d.groups = s.groups;
  d.channels_last = d.filter_channels_last = channels_last;
  d.x = {s.batch, s.in_c}, d.w = {s.out_c, s.in_c / s.groups}, d.y = {s.batch, s.out_c};
  for (const ConvSpec::Axis& a : s.axes) {
    d.x.push_back(a.in);
    d.w.push_back(a.kernel);
    d.y.push_back(a.out);
    d.pads_begin.push_back(a.before);
    d.pads_end.push_back(std::max<int64_t>(a.after, 0));
    d.strides.push_back(a.stride);
    d.dilations.push_back(a.dilation);
  }
  return d;
}

// On rounded sums these give what they give on exact ones.
bool KeepsRounding(const Activation& a) {
  const bool simple = a.kind == ActivationKind::kNone || a.kind == ActivationKind::kRelu || a.kind == ActivationKind::kRelu6;
  return simple && a.scale == 1 && a.shift == 0;
}

// How the library may share the work with device code: what it computes, and what of the task's epilogue is left.
struct Candidate {
  ConvDesc desc;
  ConvTask rest;
};

// The best first: with the activations for which cuDNN has engines of speed. The other steps work on sums in f32 where rounding twice would
// show; the gradient of an f32 filter is not rounded to halves.
std::vector<Candidate> Candidates(const ConvTask& task, const ConvDesc& bare) {
  const Activation& a = task.activation;
  const bool forward = task.kind == ConvKind::kForward, low = task.type != DType::kF32, adds = task.bias || task.residual;
  std::vector<Candidate> candidates;
  ConvTask act = task;
  act.bias = act.residual = false;
  ConvTask none = act;
  none.activation = {};
  ConvDesc sum = bare, wide = bare;
  sum.bias = task.bias;
  sum.bias_type = task.type;
  sum.residual = task.residual;
  wide.f32_result = true;
  const bool plain = forward && a.scale == 1 && a.shift == 0, swish = plain && a.kind == ActivationKind::kSwish && a.alpha == 1;
  if (swish || (plain && a.kind == ActivationKind::kRelu && task.bias)) {
    candidates.push_back({sum, none});
    candidates.back().desc.activation = swish ? ConvActivation::kSwish : ConvActivation::kRelu;
  }
  if (forward && adds) {
    candidates.push_back({sum, act});
    candidates.back().desc.f32_result = low && !KeepsRounding(a);
  }
  const bool wide_filter = task.kind == ConvKind::kFilterGradient && task.filter_type == DType::kF32;
  if (low && (adds || !KeepsRounding(a) || wide_filter)) candidates.push_back({wide, task});
  if (forward && adds && low && !KeepsRounding(a)) candidates.push_back({sum, act});
  if (!low || !wide_filter) candidates.push_back({bare, task});
  return candidates;
}

class LibraryStep final : public ConvStep {
 public:
  static absl::StatusOr<std::unique_ptr<ConvStep>> Make(const ConvTask& task, Device& device, const HostTensor* filter,
                                                        const HostTensor* bias) {
    AMPC_ASSIGN_OR_RETURN(ConvLibrary* const library, device.conv());
    const ConvSpec& s = task.conv;
    const bool x_last = s.in == Layout::kChannelsLast, y_last = s.out == Layout::kChannelsLast;
    std::unique_ptr<LibraryStep> step(new LibraryStep(task, device));
    step->last_ = x_last || y_last;
    absl::Status status;
    for (const Candidate& candidate : Candidates(task, DescOf(task, step->last_))) {
      absl::StatusOr<std::shared_ptr<const ConvPlan>> plan = library->Plan(candidate.desc, WorkspaceLimit(device));
      status = plan.status();
      if (!status.ok() && !MayFallBack(status)) return status;
      if (!status.ok()) continue;
      step->plan_ = *std::move(plan);
      step->rest_ = candidate.rest;
      step->reads_residual_ = candidate.desc.residual;
      step->converts_bias_ = candidate.desc.bias && task.bias_type != task.type;
      step->f32_result_ = candidate.desc.f32_result;
      break;
    }
    AMPC_RETURN_IF_ERROR(status);
    AMPC_RETURN_IF_ERROR(step->PlanOperands(filter));
    AMPC_RETURN_IF_ERROR(step->PlanBias(bias));
    return step;
  }

  int64_t workspace_bytes() const override { return workspace_bytes_ == 0 ? 0 : workspace_bytes_ + kAlignment; }
  std::string implementation() const override { return absl::StrCat(plan_->implementation(), HasEpilogue(rest_) ? "+epilogue" : ""); }
  bool owns_filter() const override { return filter_ != nullptr; }
  bool owns_bias() const override { return bias_ != nullptr; }

  absl::Status Run(Stream& stream, const ConvArgs& args) const override {
    char* const ws = reinterpret_cast<char*>(Aligned(reinterpret_cast<int64_t>(args.workspace)));
    const auto place = [ws](int64_t at, void* given) { return at < 0 ? given : ws + at; };
    const ConvKind kind = task_.kind;
    const ConvArgs own{place(x_at_, args.x),
                       filter_ != nullptr ? filter_.get() : place(w_at_, args.w),
                       place(y_at_, args.y),
                       bias_ != nullptr ? bias_.get() : place(bias_at_, const_cast<void*>(args.bias)),
                       place(residual_at_, const_cast<void*>(args.residual)),
                       ws};
    if (x_at_ >= 0 && kind != ConvKind::kInputGradient) AMPC_RETURN_IF_ERROR(Move(stream, x_, true, args.x, own.x));
    if (y_at_ >= 0 && kind != ConvKind::kForward) AMPC_RETURN_IF_ERROR(Move(stream, y_, true, args.y, own.y));
    if (w_at_ >= 0 && kind != ConvKind::kFilterGradient) AMPC_RETURN_IF_ERROR(Move(stream, w_, true, args.w, own.w));
    if (bias_at_ >= 0) AMPC_RETURN_IF_ERROR(Move(stream, BiasForm(), true, args.bias, const_cast<void*>(own.bias)));
    if (residual_at_ >= 0) AMPC_RETURN_IF_ERROR(Move(stream, residual_, true, args.residual, const_cast<void*>(own.residual)));
    AMPC_RETURN_IF_ERROR(plan_->Run(stream, own));
    if (kind == ConvKind::kFilterGradient) return w_at_ >= 0 ? Move(stream, w_, false, own.w, args.w) : absl::OkStatus();
    if (f32_result_ || HasEpilogue(rest_)) return Finish(stream, args, forward() ? own.y : own.x);
    if (y_at_ >= 0 && forward()) return Move(stream, y_, false, own.y, args.y);
    if (x_at_ >= 0 && kind == ConvKind::kInputGradient) return Move(stream, x_, false, own.x, args.x);
    return absl::OkStatus();
  }

 private:
  // A tensor as the op has it, row-major, and as the library takes it, channels last: per matrix rows x cols, transposed.
  struct Form {
    int64_t batch = 1, rows = 1, cols = 1;
    DType given = DType::kF32, own = DType::kF32;
    int64_t bytes() const { return batch * rows * cols * static_cast<int64_t>(SizeOf(own)); }
  };

  LibraryStep(const ConvTask& task, Device& device) : task_(task), device_(device) {}

  absl::Status Move(Stream& stream, const Form& f, bool in, const void* from, void* to) const {
    const int code = in ? LaunchConvTranspose(stream.native(), f.batch, f.rows, f.cols, f.given, from, f.own, to)
                        : LaunchConvTranspose(stream.native(), f.batch, f.cols, f.rows, f.own, from, f.given, to);
    return device_.LaunchStatus(code, "conv_transpose");
  }

  // From what the library has written to the result, with the rest of the epilogue.
  absl::Status Finish(Stream& stream, const ConvArgs& args, void* written) const {
    const DirectConv d = Direct(task_);
    Volume to = forward() ? d.y : d.x, from = to;
    to.data = forward() ? args.y : args.x;
    if (written != to.data) from.channels_last = last_;
    if (f32_result_) from.type = DType::kF32;
    SetStrides(&from);
    from.data = written;
    return device_.LaunchStatus(LaunchConvEpilogue(stream.native(), from, to, EpilogueOf(rest_, args)), "conv_epilogue");
  }

  // An operand that is not given as the library takes it gets a part of the workspace, or a constant filter a copy.
  absl::Status PlanOperands(const HostTensor* filter) {
    const ConvSpec& s = task_.conv;
    workspace_bytes_ = Aligned(plan_->workspace_bytes());
    const auto take = [this](const Form& f) {
      const int64_t at = workspace_bytes_;
      workspace_bytes_ += Aligned(f.bytes());
      return at;
    };
    x_ = {s.batch, s.in_c, s.in_positions(), task_.type, task_.type};
    y_ = {s.batch, s.out_c, s.out_positions(), task_.type, task_.type};
    w_ = {s.out_c, s.in_c / s.groups, s.window(), task_.filter_type, task_.type};
    const bool turn_y = last_ && !Neutral(y_.rows, y_.cols);
    if (f32_result_) (task_.kind == ConvKind::kForward ? y_ : task_.kind == ConvKind::kInputGradient ? x_ : w_).own = DType::kF32;
    if (x_.own != x_.given || (last_ && s.in == Layout::kPlain && !Neutral(x_.rows, x_.cols))) x_at_ = take(x_);
    if (y_.own != y_.given || (turn_y && s.out == Layout::kPlain)) y_at_ = take(y_);
    residual_ = {s.batch, s.out_c, s.out_positions(), task_.type, task_.type};
    if (reads_residual_ && turn_y && task_.residual_layout == Layout::kPlain) residual_at_ = take(residual_);
    if (reads_residual_ && !last_ && task_.residual_layout != Layout::kPlain && !Neutral(y_.rows, y_.cols)) {
      return UnsupportedError("a residual that lies channels last beside an operand and a result that do not");
    }
    if (!last_ || Neutral(w_.rows, w_.cols)) w_ = {1, 1, w_.batch * w_.rows * w_.cols, w_.given, w_.own};  // converted alone
    if (w_.rows == 1 && w_.given == w_.own) return absl::OkStatus();
    if (filter == nullptr) {
      w_at_ = take(w_);
      return absl::OkStatus();
    }
    return Copy(*filter, s.out_c, s.in_c / s.groups, s.window(), &filter_);
  }

  Form BiasForm() const { return {1, 1, forward() ? task_.conv.out_c : task_.conv.in_c, task_.bias_type, task_.type}; }

  absl::Status PlanBias(const HostTensor* bias) {
    if (!converts_bias_) return absl::OkStatus();
    if (bias != nullptr) return Copy(*bias, 1, 1, bias->num_elements(), &bias_);
    bias_at_ = workspace_bytes_;
    workspace_bytes_ += Aligned(BiasForm().bytes());
    return absl::OkStatus();
  }

  // [o, i, window] as the library takes it.
  absl::Status Copy(const HostTensor& value, int64_t o, int64_t i, int64_t window, std::shared_ptr<void>* to) const {
    const auto copy = [&](const auto& packed) -> absl::Status {
      AMPC_ASSIGN_OR_RETURN(*to, CopyToDevice(device_, packed.data(), static_cast<int64_t>(packed.size() * sizeof(packed[0]))));
      return absl::OkStatus();
    };
    switch (task_.type) {
      case DType::kF16: return copy(PackFilter<Half>(value, o, i, window, last_));
      case DType::kBF16: return copy(PackFilter<BFloat16>(value, o, i, window, last_));
      default: return copy(PackFilter<float>(value, o, i, window, last_));
    }
  }

  bool forward() const { return task_.kind == ConvKind::kForward; }

  const ConvTask task_;
  Device& device_;
  std::shared_ptr<const ConvPlan> plan_;
  bool last_ = false;            // channels, for the library
  bool reads_residual_ = false;  // the plan
  bool f32_result_ = false;      // what the plan writes, in the workspace
  ConvTask rest_;                // with the epilogue that the plan leaves to device code
  Form x_, w_, y_, residual_;
  bool converts_bias_ = false;
  std::shared_ptr<void> filter_, bias_;  // on the device, as the library takes them; null: what is given with each run
  int64_t bias_at_ = -1, x_at_ = -1, w_at_ = -1, y_at_ = -1, residual_at_ = -1;  // in the workspace; -1: used where it lies
  int64_t workspace_bytes_ = 0;
};

// So few multiply-adds per element that reading is what takes the time.
bool IsDepthwise(const ConvSpec& s) { return s.groups > 1 && s.in_c == s.groups && s.out_c <= 4 * s.groups; }

}  // namespace

absl::StatusOr<std::unique_ptr<ConvStep>> MakeConvStep(const ConvTask& task, Device& device, const HostTensor* filter,
                                                       const HostTensor* bias) {
  const ConvSpec& s = task.conv;
  const bool empty = s.batch * s.in_c * s.in_positions() * s.out_c * s.out_positions() * s.window() == 0;
  if (empty || IsDepthwise(s)) return DirectStep::Make(task, device, filter, "");
  absl::StatusOr<std::unique_ptr<ConvStep>> step = LibraryStep::Make(task, device, filter, bias);
  if (step.ok() || !MayFallBack(step.status())) return step;
  return DirectStep::Make(task, device, filter, std::string(step.status().message()));
}

}  // namespace ampc::cuda
