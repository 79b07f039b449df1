// Layers on top of ProgramBuilder, for networks of other kinds than convolutions. Names and defaults are Paddle's.
//
//   Value h = layers::LayerNorm(b, layers::Add(b, x, layers::SelfAttention(b, x, {.heads = 4})), {.begin_axis = 2});
//
// Initial values: weights of matrix products and tables Glorot's uniform distribution (Xavier), of Conv2D He's normal distribution
// (MSRA), of recurrent layers uniform within 1 / sqrt(hidden); scales 1; biases 0. Errors are kept by the builder, as for its own
// layers: graph/builder.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/builder.h"

namespace ampc::layers {

struct LayerNormOptions {
  int begin_axis = 1;  // the dimensions from here on, all known, are one normalised row
  float epsilon = 1e-5f;
};
struct LstmOptions {
  int hidden = 0;  // required
  int layers = 1;
};
struct DropoutOptions {
  float prob = 0.5f;
};
struct SelfAttentionOptions {
  int heads = 1;      // divides the features
  float dropout = 0;  // of the weights of attention
};

Value LayerNorm(ProgramBuilder& b, Value x, const LayerNormOptions& options = {});
// Row ids[..] of a table of `rows` rows and `features` columns; ids are i64.
Value Embedding(ProgramBuilder& b, Value ids, int rows, int features);
// The results of all steps, [time, batch, hidden], and the last state of the last layer, [batch, hidden]; x is [time, batch, features].
std::pair<Value, Value> Lstm(ProgramBuilder& b, Value x, const LstmOptions& options);
// Zeroes elements with probability `prob` and divides the others by 1 - prob. The choice depends on the layer's number and the state
// `dropout_seed`, which the program advances in each run; CloneForTest turns it off.
Value Dropout(ProgramBuilder& b, Value x, const DropoutOptions& options = {});
// softmax(Q K' / sqrt(features / heads)) V with products for Q, K, V and the result; x is [batch, tokens, features].
Value SelfAttention(ProgramBuilder& b, Value x, const SelfAttentionOptions& options);

// Dimension i of the result is dimension axes[i] of x.
Value Transpose(ProgramBuilder& b, Value x, std::vector<int> axes);
// 0 copies the dimension of x, one -1 is what remains.
Value Reshape(ProgramBuilder& b, Value x, std::vector<int> dims);
Value Scale(ProgramBuilder& b, Value x, float scale, float bias = 0);
// The mean over the dimensions `axes`, which go.
Value ReduceMean(ProgramBuilder& b, Value x, std::vector<int> axes);
// Any op from X and Y to Out, the shorter shape broadcast from `axis`: elementwise_sub, elementwise_mul, ...
Value Elementwise(ProgramBuilder& b, absl::string_view type, Value x, Value y, int axis = -1);
inline Value Add(ProgramBuilder& b, Value x, Value y) { return Elementwise(b, "elementwise_add", x, y); }
inline Value Multiply(ProgramBuilder& b, Value x, Value y) { return Elementwise(b, "elementwise_mul", x, y); }
inline Value Subtract(ProgramBuilder& b, Value x, Value y) { return Elementwise(b, "elementwise_sub", x, y); }

// The mean of the squares of x - y.
Value MeanSquareError(ProgramBuilder& b, Value x, Value y);
// The part of the rows of logits [batch, classes] whose largest element is at label [batch, 1]: one f32. No gradient flows through it.
Value Accuracy(ProgramBuilder& b, Value logits, Value label);

}  // namespace ampc::layers
