#include "passes/analysis/runtimes.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/dtype.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc {
namespace {

// onnxruntime 1.32.0, get_all_opkernel_def().
constexpr absl::string_view kOrtCpuF16 =
    "Attention BitCast Cast Celu:28 Clip:12 Compress Concat ConstantOfShape DequantizeLinear Dropout DynamicSlice Expand "
    "Flatten Gather GatherElements GatherND Identity If IsInf:20 IsNaN LayerNormalization Loop Max:12 Min:12 Mod Optional "
    "OptionalGetElement OptionalHasElement QuantizeLinear:19 RMSNormalization RandomNormalLike RandomUniformLike Reshape "
    "ReverseSequence RotaryEmbedding Round Scan Scatter ScatterElements ScatterND SequenceAt SequenceConstruct Shape "
    "Shrink Sign SimplifiedLayerNormalization Slice Split SplitToSequence Squeeze TensorScatter Transpose Unsqueeze "
    "com.microsoft.BranchwiseRMSNorm com.microsoft.EngramGate com.microsoft.ExpandDims com.microsoft.GatedAdd "
    "com.microsoft.GatedDeltaNet com.microsoft.GatedRMSNorm com.microsoft.GatherBlockQuantized com.microsoft.GatherND "
    "com.microsoft.GatherPacked com.microsoft.GroupQueryAttention com.microsoft.HyperConnectionPostMix "
    "com.microsoft.HyperConnectionPreMix com.microsoft.Inverse com.microsoft.LinearAttentionGate "
    "com.microsoft.MRotaryEmbedding com.microsoft.MatMulNBits com.microsoft.MoEGroupRouter com.microsoft.QMoE "
    "com.microsoft.RotaryEmbedding com.microsoft.ScaledSiLU com.microsoft.SkipLayerNormalization "
    "com.microsoft.SkipSimplifiedLayerNormalization com.microsoft.SparseAttention com.microsoft.UnfoldTensor "
    "com.microsoft.VarlenCausalConvWithState";
constexpr absl::string_view kOrtCpuBf16 =
    "BitCast Cast Celu:28 Compress Concat ConstantOfShape DynamicSlice Einsum:28 Flatten Gather GatherElements GatherND "
    "Identity If IsInf:20 IsNaN:20 LayerNormalization Loop OneHot:28 Optional OptionalGetElement OptionalHasElement Pad:21 "
    "RandomNormalLike RandomUniformLike Reshape ReverseSequence Scan Scatter ScatterElements ScatterND SequenceAt "
    "SequenceConstruct Shape Shrink Sign SimplifiedLayerNormalization Slice Split Squeeze TensorScatter Transpose "
    "Unique:28 Unsqueeze com.microsoft.BranchwiseRMSNorm com.microsoft.ExpandDims com.microsoft.GatedDeltaNet "
    "com.microsoft.GatedRMSNorm com.microsoft.GatherND com.microsoft.GatherPacked com.microsoft.HyperConnectionPostMix "
    "com.microsoft.HyperConnectionPreMix com.microsoft.LinearAttentionGate com.microsoft.MoEGroupRouter com.microsoft.QMoE "
    "com.microsoft.ScaledSiLU com.microsoft.SkipLayerNormalization com.microsoft.SkipSimplifiedLayerNormalization "
    "com.microsoft.UnfoldTensor com.microsoft.VarlenCausalConvWithState";

// docs/OperatorKernels.md of onnxruntime, CUDAExecutionProvider.
constexpr absl::string_view kOrtCudaF16 =
    "Abs Add Affine ArgMax ArgMin Attention AveragePool BatchNormalization Cast Ceil Clip:12 Compress Concat "
    "ConcatFromSequence ConstantOfShape Conv ConvTranspose Cos Crop CumSum:14 DepthToSpace DequantizeLinear:19 Div Dropout "
    "DynamicSlice Einsum Elu Equal:11 Erf Exp Expand Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm "
    "GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual HardSigmoid HardSwish Identity If ImageScaler "
    "InstanceNormalization IsInf:20 IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Loop MatMul "
    "Max MaxPool Min Mod Mul Neg NonZero OneHot PRelu Pad ParametricSoftplus Pow QuantizeLinear:19 RMSNormalization RNN "
    "RandomNormal RandomNormalLike RandomUniform RandomUniformLike Reciprocal ReduceL1 ReduceL2 ReduceLogSum "
    "ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize "
    "ReverseSequence RotaryEmbedding Round ScaledTanh Scan Scatter ScatterElements ScatterND Selu SequenceAt "
    "SequenceConstruct SequenceErase SequenceInsert Shape Shrink Sigmoid Sign SimplifiedLayerNormalization Sin Size Slice "
    "Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh TensorScatter ThresholdedRelu Tile TopK "
    "Transpose Trilu Unsqueeze Upsample Where com.microsoft.Attention com.microsoft.BiasAdd com.microsoft.BiasDropout "
    "com.microsoft.BiasGelu com.microsoft.BiasSoftmax com.microsoft.BiasSplitGelu com.microsoft.EmbedLayerNormalization "
    "com.microsoft.FastGelu com.microsoft.FusedMatMul com.microsoft.GatherBlockQuantized com.microsoft.Gelu "
    "com.microsoft.GroupNorm com.microsoft.GroupQueryAttention com.microsoft.Inverse com.microsoft.Irfft "
    "com.microsoft.MatMulNBits com.microsoft.MoE com.microsoft.MultiHeadAttention com.microsoft.NhwcConv "
    "com.microsoft.PackedAttention com.microsoft.PackedMultiHeadAttention com.microsoft.QMoE";
constexpr absl::string_view kOrtCudaBf16 =
    "Abs:13 Add:13 Attention AveragePool:22 Cast Compress Concat ConcatFromSequence ConstantOfShape Conv:22 Div:13 "
    "Dropout:13 DynamicSlice Erf:13 Exp:13 Expand Flatten Gather GatherElements GatherND:13 Gelu Gemm:13 HardSigmoid:22 "
    "HardSwish:22 Identity If IsInf:20 IsNaN:13 LayerNormalization Loop MatMul:13 Max Min Mod:13 Mul:13 Neg:13 Pow:13 "
    "RMSNormalization ReduceSum:13 Relu:13 Reshape ReverseSequence RotaryEmbedding Scan Scatter ScatterElements ScatterND "
    "SequenceAt SequenceConstruct SequenceErase SequenceInsert Shape Sigmoid:13 Sign SimplifiedLayerNormalization Size "
    "Slice Softmax:13 Split Sqrt:13 Squeeze Sub:13 Sum Tanh:13 TensorScatter Tile:13 Transpose Trilu Unsqueeze Where:16 "
    "com.microsoft.Attention com.microsoft.BiasDropout com.microsoft.BiasGelu com.microsoft.FastGelu "
    "com.microsoft.FusedMatMul com.microsoft.GatherBlockQuantized com.microsoft.Gelu com.microsoft.GroupQueryAttention "
    "com.microsoft.MatMulNBits com.microsoft.MoE com.microsoft.MultiHeadAttention com.microsoft.QMoE";

// The operators.md of onnx-tensorrt for TensorRT 10.
constexpr absl::string_view kTensorRtF16 =
    "Abs Acos Acosh Add ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Cast CastLike Ceil Celu Clip "
    "Concat Constant ConstantOfShape Conv ConvTranspose Cos Cosh CumSum DeformConv DepthToSpace Div Dropout Einsum Elu "
    "Equal Erf Exp Expand EyeLike Flatten Floor Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool "
    "GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization GRU HardSigmoid HardSwish Hardmax Identity If "
    "ImageScaler InstanceNormalization IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Loop LRN "
    "LSTM LpNormalization LpPool MatMul Max MaxPool Mean MeanVarianceNormalization Min Mish Mod Mul Neg NonMaxSuppression "
    "NonZero OneHot Pad ParametricSoftplus Pow PRelu QuantizeLinear RandomNormal RandomNormalLike RandomUniform "
    "RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
    "ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RNN RoiAlign Round ScaledTanh Scan Scatter "
    "ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SpaceToDepth "
    "Split Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Upsample Where";
constexpr absl::string_view kTensorRtBf16 =
    "Abs Acos Acosh Add ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Cast CastLike Ceil Celu Clip "
    "Concat Constant ConstantOfShape Conv ConvTranspose Cos Cosh CumSum DepthToSpace Div Dropout Einsum Elu Equal Erf Exp "
    "Expand EyeLike Flatten Floor Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool "
    "Greater GreaterOrEqual GroupNormalization GRU HardSigmoid HardSwish Hardmax Identity If ImageScaler "
    "InstanceNormalization IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Loop LRN LSTM "
    "LpNormalization LpPool MatMul Max MaxPool Mean MeanVarianceNormalization Min Mod Mul Neg OneHot Pad "
    "ParametricSoftplus Pow PRelu QuantizeLinear RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range "
    "Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare Relu Reshape Resize ReverseSequence RNN Round ScaledTanh Scan Scatter ScatterElements ScatterND Selu "
    "Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tan "
    "Tanh ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Upsample Where";

constexpr Runtime kRuntimes[] = {
    {.name = "ampc", .words = "ampc", .target = "", .format = "", .source = "the records of its ops", .verified = true},
    {.name = "ort-cpu",
     .words = "ONNX Runtime's CPU provider",
     .target = "cpu",
     .format = "onnx",
     .source = "the kernels of onnxruntime 1.32.0",
     .verified = true,
     .f16 = {.types = kOrtCpuF16, .casts_itself = true, .faulty = "Attention", .fault = "gives other products of queries and keys in f16"},
     .bf16 = {.types = kOrtCpuBf16}},
    {.name = "openvino",
     .words = "OpenVINO's CPU plugin",
     .target = "cpu",
     .format = "onnx",
     .source = "openvino 2026.4.1",
     .verified = true,
     .f16 = {.faulty = "BatchNormalization:15 com.microsoft.FusedConv com.microsoft.QuickGelu",
             .fault = "mixes f16 with f32 constants of its own and does not load"},
     .bf16 = {.faulty = "Attention BatchNormalization:15 com.microsoft.QuickGelu",
              .fault = "mixes bf16 with f32 constants of its own and does not load, or masks scores wrongly"}},
    {.name = "ort-cuda",
     .words = "ONNX Runtime's CUDA provider",
     .target = "cuda",
     .format = "onnx",
     .source = "documents of onnxruntime, not verified",
     .f16 = {.types = kOrtCudaF16},
     .bf16 = {.types = kOrtCudaBf16}},
    {.name = "tensorrt",
     .words = "TensorRT",
     .target = "cuda",
     .format = "onnx",
     .source = "documents of TensorRT 10, not verified",
     .f16 = {.types = kTensorRtF16},
     .bf16 = {.types = kTensorRtBf16}},
    {.name = "paddle-gpu",
     .words = "Paddle Inference on a GPU",
     .target = "cuda",
     .format = "paddle",
     .source = "documents of Paddle 2.6, not verified"},
};

const RuntimeKernels& KernelsOf(const Runtime& runtime, DType low) { return low == DType::kBF16 ? runtime.bf16 : runtime.f16; }

// The list has the type, from a version on that is not later than `since`.
bool Lists(absl::string_view types, absl::string_view type, int since) {
  if (types == "*") return true;
  for (const absl::string_view entry : absl::StrSplit(types, ' ', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(entry, absl::MaxSplits(':', 1));
    int from = 0;
    if (parts.first == type) return !absl::SimpleAtoi(parts.second, &from) || since >= from;
  }
  return false;
}

bool HasKernel(const Runtime& runtime, const OpDef& def, DType low) {
  const onnx::OnnxDef* onnx = onnx::DefOf(def);
  return onnx == nullptr || Lists(KernelsOf(runtime, low).types, onnx::TypeName(def), onnx->schema->since);
}

}  // namespace

absl::Span<const Runtime> AllRuntimes() { return kRuntimes; }

std::vector<std::string> RuntimeNames() {
  std::vector<std::string> names;
  for (const Runtime& runtime : kRuntimes) names.emplace_back(runtime.name);
  return names;
}

const Runtime* FindRuntime(absl::string_view name) {
  const auto* at = std::find_if(std::begin(kRuntimes), std::end(kRuntimes), [name](const Runtime& r) { return r.name == name; });
  return at == std::end(kRuntimes) ? nullptr : at;
}

std::string WhyNotLow(const Runtime& runtime, const OpDef& def, DType low) {
  const RuntimeKernels& kernels = KernelsOf(runtime, low);
  const onnx::OnnxDef* onnx = onnx::DefOf(def);
  if (onnx != nullptr && !kernels.faulty.empty() && Lists(kernels.faulty, onnx::TypeName(def), onnx->schema->since)) {
    return absl::StrCat(runtime.words, " ", kernels.fault);
  }
  if (kernels.casts_itself || HasKernel(runtime, def, low)) return "";
  return absl::StrCat(runtime.words, " has no ", Name(low), " kernel of ", onnx::TypeName(def), "-", onnx->schema->since);
}

bool CastsItself(const Runtime& runtime, const OpDef& def, DType low) {
  return KernelsOf(runtime, low).casts_itself && !HasKernel(runtime, def, low);
}

}  // namespace ampc
