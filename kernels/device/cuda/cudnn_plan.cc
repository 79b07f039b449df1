#include "kernels/device/cuda/cudnn_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

constexpr int64_t kAlignment = 16;  // bytes, of every tensor
constexpr int64_t kMostEngines = 64;

cudnnDataType_t TypeOf(DType type) {
  return type == DType::kF16 ? CUDNN_DATA_HALF : type == DType::kBF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

// cuDNN has no 1-d convolutions: a line is an image of one row.
std::vector<int64_t> AtLeast2d(std::vector<int64_t> dims, size_t spatial_at, int64_t fill) {
  if (dims.size() == spatial_at + 1) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(spatial_at), fill);
  return dims;
}

std::vector<int64_t> StridesOf(const std::vector<int64_t>& dims, bool channels_last) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = channels_last ? dims[1] : 1;
  if (channels_last) strides[1] = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (i == 1 && channels_last) continue;
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

// Builds one operation graph; remembers what it is made of, which must stay.
class GraphBuilder {
 public:
  GraphBuilder(const CudnnApi& api, const CudnnTarget& target, const ConvDesc& desc) : api_(api), target_(target), d_(desc) {}

  absl::StatusOr<CudnnDescriptor> Build() {
    const auto type = [this](ConvKind writer) { return d_.f32_result && d_.kind == writer ? DType::kF32 : d_.type; };
    AMPC_ASSIGN_OR_RETURN(const CudnnDescriptor x, Tensor(kCudnnX, type(ConvKind::kInputGradient), d_.x, d_.channels_last));
    AMPC_ASSIGN_OR_RETURN(const CudnnDescriptor w, Tensor(kCudnnW, type(ConvKind::kFilterGradient), d_.w, d_.filter_channels_last));
    AMPC_ASSIGN_OR_RETURN(const CudnnDescriptor y, Tensor(kCudnnY, type(ConvKind::kForward), d_.y, d_.channels_last));
    const int pointwise = d_.kind == ConvKind::kForward ? d_.bias + d_.residual + (d_.activation != ConvActivation::kNone) : 0;
    left_ = pointwise;
    AMPC_ASSIGN_OR_RETURN(CudnnDescriptor value, Next(y));
    AMPC_RETURN_IF_ERROR(AddConvolution(x, w, value));
    if (pointwise > 0) AMPC_RETURN_IF_ERROR(AddEpilogue(value, y));
    std::vector<cudnnBackendDescriptor_t> ops;
    for (const CudnnDescriptor& op : ops_) ops.push_back(op.get());
    AMPC_ASSIGN_OR_RETURN(CudnnDescriptor graph, CudnnDescriptor::Create(api_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
    AMPC_RETURN_IF_ERROR(
        graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(ops.size()), ops.data()));
    if (target_.handle != nullptr) {
      AMPC_RETURN_IF_ERROR(graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target_.handle));
    }
    AMPC_RETURN_IF_ERROR(graph.Finalize());
    return graph;
  }

 private:
  absl::StatusOr<CudnnDescriptor> Tensor(int64_t uid, DType type, const std::vector<int64_t>& given, bool channels_last,
                                         bool is_virtual = false) {
    const std::vector<int64_t> dims = AtLeast2d(given, 2, 1);
    const cudnnDataType_t data_type = TypeOf(type);
    AMPC_ASSIGN_OR_RETURN(CudnnDescriptor t, CudnnDescriptor::Create(api_, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
    AMPC_RETURN_IF_ERROR(t.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &data_type));
    AMPC_RETURN_IF_ERROR(t.SetInts(CUDNN_ATTR_TENSOR_DIMENSIONS, dims));
    AMPC_RETURN_IF_ERROR(t.SetInts(CUDNN_ATTR_TENSOR_STRIDES, StridesOf(dims, channels_last)));
    AMPC_RETURN_IF_ERROR(t.SetInts(CUDNN_ATTR_TENSOR_UNIQUE_ID, {uid}));
    AMPC_RETURN_IF_ERROR(t.SetInts(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {kAlignment}));
    if (is_virtual) AMPC_RETURN_IF_ERROR(t.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual));
    AMPC_RETURN_IF_ERROR(t.Finalize());
    return t;
  }

  // The result of the next operation: y for the last, else a value in f32 that is never stored.
  absl::StatusOr<CudnnDescriptor> Next(const CudnnDescriptor& y) {
    if (left_ == 0) return y;
    return Tensor(kCudnnResidual + left_--, DType::kF32, d_.y, d_.channels_last, /*is_virtual=*/true);
  }

  absl::StatusOr<CudnnDescriptor> Convolution() {
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const std::vector<int64_t> strides = AtLeast2d(d_.strides, 0, 1);
    AMPC_ASSIGN_OR_RETURN(CudnnDescriptor c, CudnnDescriptor::Create(api_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
    AMPC_RETURN_IF_ERROR(c.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute));
    AMPC_RETURN_IF_ERROR(c.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
    AMPC_RETURN_IF_ERROR(c.SetInts(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {static_cast<int64_t>(strides.size())}));
    AMPC_RETURN_IF_ERROR(c.SetInts(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides));
    AMPC_RETURN_IF_ERROR(c.SetInts(CUDNN_ATTR_CONVOLUTION_DILATIONS, AtLeast2d(d_.dilations, 0, 1)));
    AMPC_RETURN_IF_ERROR(c.SetInts(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, AtLeast2d(d_.pads_begin, 0, 0)));
    AMPC_RETURN_IF_ERROR(c.SetInts(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, AtLeast2d(d_.pads_end, 0, 0)));
    AMPC_RETURN_IF_ERROR(c.Finalize());
    return c;
  }

  struct Names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t convolution, alpha, beta, x, w, y;
  };

  static const Names& NamesOf(ConvKind kind) {
    static constexpr Names kNames[] = {
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}};
    return kNames[static_cast<int>(kind)];
  }

  absl::Status AddConvolution(const CudnnDescriptor& x, const CudnnDescriptor& w, const CudnnDescriptor& y) {
    AMPC_ASSIGN_OR_RETURN(const CudnnDescriptor convolution, Convolution());
    const Names& names = NamesOf(d_.kind);
    const float one = 1, zero = 0;
    AMPC_ASSIGN_OR_RETURN(CudnnDescriptor op, CudnnDescriptor::Create(api_, names.type));
    AMPC_RETURN_IF_ERROR(op.SetDescriptor(names.convolution, convolution));
    AMPC_RETURN_IF_ERROR(op.Set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one));
    AMPC_RETURN_IF_ERROR(op.Set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero));
    AMPC_RETURN_IF_ERROR(op.SetDescriptor(names.x, x));
    AMPC_RETURN_IF_ERROR(op.SetDescriptor(names.w, w));
    AMPC_RETURN_IF_ERROR(op.SetDescriptor(names.y, y));
    AMPC_RETURN_IF_ERROR(op.Finalize());
    ops_.push_back(std::move(op));
    return absl::OkStatus();
  }

  absl::Status AddEpilogue(CudnnDescriptor value, const CudnnDescriptor& y) {
    if (d_.residual) {
      AMPC_ASSIGN_OR_RETURN(const CudnnDescriptor residual, Tensor(kCudnnResidual, d_.type, d_.y, d_.channels_last));
      AMPC_RETURN_IF_ERROR(AddPointwise(CUDNN_POINTWISE_ADD, &residual, y, &value));
    }
    if (d_.bias) {
      std::vector<int64_t> dims(d_.y.size(), 1);
      dims[1] = d_.y[1];
      AMPC_ASSIGN_OR_RETURN(const CudnnDescriptor bias, Tensor(kCudnnBias, d_.bias_type, dims, d_.channels_last));
      AMPC_RETURN_IF_ERROR(AddPointwise(CUDNN_POINTWISE_ADD, &bias, y, &value));
    }
    if (d_.activation == ConvActivation::kNone) return absl::OkStatus();
    return AddPointwise(d_.activation == ConvActivation::kSwish ? CUDNN_POINTWISE_SWISH_FWD : CUDNN_POINTWISE_RELU_FWD, nullptr, y, &value);
  }

  // *value = mode(*value, other)
  absl::Status AddPointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor* other, const CudnnDescriptor& y, CudnnDescriptor* value) {
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    AMPC_ASSIGN_OR_RETURN(CudnnDescriptor p, CudnnDescriptor::Create(api_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
    AMPC_RETURN_IF_ERROR(p.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
    AMPC_RETURN_IF_ERROR(p.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute));
    if (mode == CUDNN_POINTWISE_RELU_FWD) {
      const cudnnNanPropagation_t keep = CUDNN_PROPAGATE_NAN;
      AMPC_RETURN_IF_ERROR(p.Set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &keep));
      if (d_.activation == ConvActivation::kClip) {
        const double lower = static_cast<double>(d_.lower), upper = static_cast<double>(d_.upper);
        AMPC_RETURN_IF_ERROR(p.Set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 1, &lower));
        AMPC_RETURN_IF_ERROR(p.Set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1, &upper));
      }
    }
    AMPC_RETURN_IF_ERROR(p.Finalize());
    AMPC_ASSIGN_OR_RETURN(CudnnDescriptor result, Next(y));
    AMPC_ASSIGN_OR_RETURN(CudnnDescriptor op, CudnnDescriptor::Create(api_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
    AMPC_RETURN_IF_ERROR(op.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, p));
    AMPC_RETURN_IF_ERROR(op.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *value));
    if (other != nullptr) AMPC_RETURN_IF_ERROR(op.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *other));
    AMPC_RETURN_IF_ERROR(op.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result));
    AMPC_RETURN_IF_ERROR(op.Finalize());
    ops_.push_back(std::move(op));
    *value = std::move(result);
    return absl::OkStatus();
  }

  const CudnnApi& api_;
  const CudnnTarget& target_;
  const ConvDesc& d_;
  int left_ = 0;  // operations behind the next
  std::vector<CudnnDescriptor> ops_;
};

absl::StatusOr<std::vector<CudnnDescriptor>> EngineConfigs(const CudnnApi& api, const CudnnTarget& target, const CudnnDescriptor& graph,
                                                           cudnnBackendHeurMode_t mode) {
  AMPC_ASSIGN_OR_RETURN(CudnnDescriptor heuristics, CudnnDescriptor::Create(api, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  AMPC_RETURN_IF_ERROR(heuristics.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
  AMPC_RETURN_IF_ERROR(heuristics.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
  if (target.properties.has_value()) AMPC_RETURN_IF_ERROR(heuristics.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.properties));
  AMPC_RETURN_IF_ERROR(heuristics.Finalize());
  AMPC_ASSIGN_OR_RETURN(int64_t count, heuristics.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr));
  count = std::min(count, kMostEngines);
  std::vector<CudnnDescriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    AMPC_ASSIGN_OR_RETURN(CudnnDescriptor config, CudnnDescriptor::Create(api, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    raw.push_back(config.get());
    configs.push_back(std::move(config));
  }
  AMPC_ASSIGN_OR_RETURN(const int64_t got, heuristics.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data()));
  configs.erase(configs.begin() + static_cast<std::ptrdiff_t>(std::min(count, got)), configs.end());
  return configs;
}

absl::StatusOr<CudnnDescriptor> EngineOf(const CudnnApi& api, const CudnnDescriptor& config) {
  AMPC_ASSIGN_OR_RETURN(const CudnnDescriptor engine, CudnnDescriptor::Create(api, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  cudnnBackendDescriptor_t raw = engine.get();
  AMPC_RETURN_IF_ERROR(config.Get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw).status());
  return engine;
}

absl::StatusOr<bool> IsAllowed(const CudnnDescriptor& engine, const ConvDesc& d) {
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT + 8];
  AMPC_ASSIGN_OR_RETURN(const int64_t count,
                        engine.Get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes));
  return std::none_of(notes, notes + count, [&d](cudnnBackendNumericalNote_t note) {
    if (note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP) return false;
    return note != CUDNN_NUMERICAL_NOTE_TENSOR_CORE || (d.type == DType::kF32 && !d.tf32);
  });
}

absl::StatusOr<CudnnDescriptor> ExecutionPlan(const CudnnApi& api, const CudnnTarget& target, const CudnnDescriptor& config) {
  AMPC_ASSIGN_OR_RETURN(CudnnDescriptor plan, CudnnDescriptor::Create(api, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  AMPC_RETURN_IF_ERROR(plan.SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config));
  if (target.handle != nullptr) {
    AMPC_RETURN_IF_ERROR(plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle));
  } else {
    AMPC_RETURN_IF_ERROR(plan.SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.properties));
  }
  AMPC_RETURN_IF_ERROR(plan.Finalize());
  return plan;
}

}  // namespace

absl::StatusOr<CudnnTarget> DescribedTarget(const CudnnApi& api, const std::string& json) {
  AMPC_ASSIGN_OR_RETURN(CudnnDescriptor properties, CudnnDescriptor::Create(api, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
  AMPC_RETURN_IF_ERROR(
      properties.Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<int64_t>(json.size()), json.data()));
  AMPC_RETURN_IF_ERROR(properties.Finalize());
  return CudnnTarget{nullptr, std::move(properties)};
}

absl::StatusOr<CudnnPlan> PlanCudnn(const CudnnApi& api, const CudnnTarget& target, const ConvDesc& desc, int64_t workspace_limit) {
  AMPC_ASSIGN_OR_RETURN(const CudnnDescriptor graph, GraphBuilder(api, target, desc).Build());
  std::string reason = "its heuristics name none";
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    const absl::StatusOr<std::vector<CudnnDescriptor>> configs = EngineConfigs(api, target, graph, mode);
    if (!configs.ok()) {
      reason = std::string(configs.status().message());
      continue;
    }
    for (const CudnnDescriptor& config : *configs) {
      const absl::StatusOr<CudnnDescriptor> engine = EngineOf(api, config);
      if (!engine.ok()) continue;
      const absl::StatusOr<bool> allowed = IsAllowed(*engine, desc);
      if (!allowed.ok() || !*allowed) continue;
      absl::StatusOr<CudnnDescriptor> plan = ExecutionPlan(api, target, config);
      if (!plan.ok()) {
        reason = std::string(plan.status().message());
        continue;
      }
      AMPC_ASSIGN_OR_RETURN(const int64_t bytes, plan->GetInt(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
      AMPC_ASSIGN_OR_RETURN(const int64_t index, engine->GetInt(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
      if (bytes <= workspace_limit) return CudnnPlan{*std::move(plan), bytes, index};
      reason = absl::StrCat("the least workspace so far is ", bytes, " bytes of ", workspace_limit);
    }
  }
  return UnsupportedError(absl::StrCat("cuDNN has no engine for a convolution of this shape and type: ", reason));
}

}  // namespace ampc
