#include "graph/layers.h"

#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc::layers {
namespace {

using Ints = std::vector<int32_t>;

// The dimensions of x from `begin` on, when x has them and they are known; else an error, and none.
Dims KnownDims(ProgramBuilder& b, absl::string_view layer, Value x, int begin, int rank) {
  if (!b.status().ok()) return {};
  if (x.var == nullptr) {
    b.Fail(UsageError(absl::StrCat(layer, ": found an empty value, needed one of the builder's")));
    return {};
  }
  const TensorType& type = x.var->type;
  bool good = type.has_rank && begin >= 0 && begin < type.rank() && (rank < 0 || type.rank() == rank);
  for (int i = begin; good && i < type.rank(); ++i) good = IsKnown(type.dims[i]);
  if (good) return Dims(type.dims.begin() + begin, type.dims.end());
  b.Fail(UsageError(absl::StrCat(layer, ": found '", x.var->name(), "' of type ", ToString(type), ", needed ",
                                 rank < 0 ? "the dimensions" : absl::StrCat(rank, " dimensions, those"), " from ", begin, " on known")));
  return {};
}

Initializer Glorot(double in, double out) {
  const double bound = std::sqrt(6.0 / (in + out));
  return Initializer::Uniform(-bound, bound);
}

// With the result XShape, from which the gradient takes the shape of x.
Value View(ProgramBuilder& b, absl::string_view type, Value x, Attr attr) {
  const std::vector<Value> out = b.Op(type, {{"X", {x}}}, {std::move(attr)}, {{"Out", {Value()}}, {"XShape", {Value()}}});
  if (out[1].var != nullptr) out[1].var->stop_gradient = true;
  return out[0];
}

// x [batch, tokens, features] times a matrix, as [batch, heads, tokens, features / heads].
Value Project(ProgramBuilder& b, Value x, int heads, int size) {
  const Value h = Reshape(b, b.FullyConnected(x, size, {.flatten = 2}), {0, 0, heads, size / heads});
  return Transpose(b, h, {0, 2, 1, 3});
}

Value ZeroState(ProgramBuilder& b, Value x, const LstmOptions& options) {
  return b.Op("fill_constant_batch_size_like", {{"Input", {x}}},
              {{"shape", Ints{options.layers, -1, options.hidden}}, {"input_dim_idx", 1}, {"output_dim_idx", 1}, {"dtype", DType::kF32}});
}

// The state that all dropout layers of the program read, and that its first one advances in each step.
Value DropoutSeed(ProgramBuilder& b) {
  constexpr char kName[] = "dropout_seed";
  if (Var* var = b.program().main().FindVar(kName); var != nullptr) return {var};
  const Value seed = b.State(kName, DType::kI32, {1}, Initializer::Uniform(0, 1 << 30));
  b.Op("increment", {{"X", {seed}}}, {{"step", 1.0f}}, {{"Out", {seed}}});
  return seed;
}

// k of `dropout_k`.
int NumberOf(const std::string& layer) { return std::atoi(layer.c_str() + layer.rfind('_') + 1); }

}  // namespace

Value LayerNorm(ProgramBuilder& b, Value x, const LayerNormOptions& options) {
  const std::string layer = b.NextLayer("layer_norm");
  int64_t size = 1;
  for (int64_t d : KnownDims(b, layer, x, options.begin_axis, -1)) size *= d;
  const Value scale = b.Param(layer + ".w_0", DType::kF32, {size}, Initializer::Constant(1));
  const Value bias = b.Param(layer + ".b_0", DType::kF32, {size});
  const std::vector<Value> out = b.Append(layer, "layer_norm", {{"X", {x}}, {"Scale", {scale}}, {"Bias", {bias}}},
                                          {{"epsilon", options.epsilon}, {"begin_norm_axis", options.begin_axis}},
                                          {{"Y", {Value()}}, {"Mean", {Value()}}, {"Variance", {Value()}}});
  if (out[0].var != nullptr) out[1].var->stop_gradient = out[2].var->stop_gradient = true;
  return out[0];
}

Value Embedding(ProgramBuilder& b, Value ids, int rows, int features) {
  const std::string layer = b.NextLayer("embedding");
  const Value w = b.Param(layer + ".w_0", DType::kF32, {rows, features}, Glorot(rows, features));
  return b.Append(layer, "lookup_table_v2", {{"W", {w}}, {"Ids", {ids}}}, {}, {{"Out", {Value()}}})[0];
}

std::pair<Value, Value> Lstm(ProgramBuilder& b, Value x, const LstmOptions& options) {
  const std::string layer = b.NextLayer("lstm_cell");
  const Dims features = KnownDims(b, layer, x, 2, 3);
  if (options.hidden <= 0 || options.layers <= 0) {
    b.Fail(UsageError(absl::StrCat(layer, ": found hidden ", options.hidden, " and ", options.layers, " layers, needed both from 1")));
  }
  if (!b.status().ok()) return {};
  const double bound = 1 / std::sqrt(options.hidden);
  const int64_t gates = 4 * int64_t{options.hidden};
  std::vector<Value> weights, biases;
  for (int i = 0; i < options.layers; ++i) {
    const auto param = [&](const char* kind, int k, Dims dims) {
      return b.Param(absl::StrCat(layer, ".", kind, "_", 2 * i + k), DType::kF32, std::move(dims), Initializer::Uniform(-bound, bound));
    };
    weights.push_back(param("w", 0, {gates, i == 0 ? features[0] : options.hidden}));
    weights.push_back(param("w", 1, {gates, options.hidden}));
    biases.push_back(param("b", 0, {gates}));
    biases.push_back(param("b", 1, {gates}));
  }
  weights.insert(weights.end(), biases.begin(), biases.end());
  const std::vector<Value> out =
      b.Append(layer, "rnn", {{"Input", {x}}, {"PreState", {ZeroState(b, x, options), ZeroState(b, x, options)}}, {"WeightList", weights}},
               {{"mode", "LSTM"},
                {"input_size", static_cast<int32_t>(features[0])},
                {"hidden_size", options.hidden},
                {"num_layers", options.layers}},
               {{"Out", {Value()}}, {"State", {Value(), Value()}}});
  if (!b.status().ok()) return {};
  const Value last =
      b.Op("slice", {{"Input", {out[1]}}},
           {{"axes", Ints{0}}, {"starts", Ints{options.layers - 1}}, {"ends", Ints{options.layers}}, {"decrease_axis", Ints{0}}});
  return {out[0], last};
}

Value Dropout(ProgramBuilder& b, Value x, const DropoutOptions& options) {
  const std::string layer = b.NextLayer("dropout");
  const std::vector<Value> out = b.Append(
      layer, "dropout", {{"X", {x}}, {"Seed", {DropoutSeed(b)}}},
      {{"dropout_prob", options.prob}, {"dropout_implementation", "upscale_in_train"}, {"seed", NumberOf(layer) + 1}, {"fix_seed", true}},
      {{"Out", {Value()}}, {"Mask", {Value()}}});
  if (out[1].var != nullptr) out[1].var->stop_gradient = true;
  return out[0];
}

Value SelfAttention(ProgramBuilder& b, Value x, const SelfAttentionOptions& options) {
  const Dims features = KnownDims(b, "self_attention", x, 2, 3);
  if (!b.status().ok()) return {};
  const int size = static_cast<int>(features[0]);
  if (options.heads <= 0 || size % options.heads != 0) {
    b.Fail(UsageError(
        absl::StrCat("self_attention: found ", options.heads, " heads for ", size, " features, needed a number that divides them")));
    return {};
  }
  const Value q = Project(b, x, options.heads, size);
  const Value k = Project(b, x, options.heads, size);
  const Value v = Project(b, x, options.heads, size);
  const float scale = 1 / std::sqrt(static_cast<float>(size / options.heads));
  Value weights = b.Softmax(b.Matmul(Scale(b, q, scale), k, {.trans_y = true}));
  if (options.dropout > 0) weights = Dropout(b, weights, {.prob = options.dropout});
  const Value joined = Reshape(b, Transpose(b, b.Matmul(weights, v), {0, 2, 1, 3}), {0, 0, size});
  return b.FullyConnected(joined, size, {.flatten = 2});
}

Value Transpose(ProgramBuilder& b, Value x, std::vector<int> axes) {
  return View(b, "transpose2", x, {"axis", Ints(axes.begin(), axes.end())});
}

Value Reshape(ProgramBuilder& b, Value x, std::vector<int> dims) {
  return View(b, "reshape2", x, {"shape", Ints(dims.begin(), dims.end())});
}

Value Scale(ProgramBuilder& b, Value x, float scale, float bias) { return b.Op("scale", {{"X", {x}}}, {{"scale", scale}, {"bias", bias}}); }

Value ReduceMean(ProgramBuilder& b, Value x, std::vector<int> axes) {
  return b.Op("reduce_mean", {{"X", {x}}}, {{"dim", Ints(axes.begin(), axes.end())}});
}

Value Elementwise(ProgramBuilder& b, absl::string_view type, Value x, Value y, int axis) {
  return b.Op(type, {{"X", {x}}, {"Y", {y}}}, {{"axis", axis}});
}

Value MeanSquareError(ProgramBuilder& b, Value x, Value y) { return b.Mean(b.Activation("square", Subtract(b, x, y))); }

Value Accuracy(ProgramBuilder& b, Value logits, Value label) {
  const Value best = b.Op("arg_max", {{"X", {logits}}}, {{"axis", int64_t{1}}, {"keepdims", true}, {"dtype", DType::kI64}});
  const Value right = b.Op("equal", {{"X", {best}}, {"Y", {label}}});
  const Value accuracy = b.Mean(b.Op("cast", {{"X", {right}}}, {{"in_dtype", DType::kBool}, {"out_dtype", DType::kF32}}));
  for (const Value v : {best, right, accuracy}) {
    if (v.var != nullptr) v.var->stop_gradient = true;
  }
  return accuracy;
}

}  // namespace ampc::layers
