// Programs to draw.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"

namespace ampc::testing {

// `blocks` times the same six ops with a sum around them, between an exponential and a softmax.
inline std::string Tower(int blocks) {
  std::string text = "feed x : f32 [?, 4]\nparam w : f32 [4, 4] = 0.1\nv0 = exp(x) : f32 [?, 4]\n";
  for (int k = 0; k < blocks; ++k) {
    absl::StrAppend(&text, "a", k, " = matmul_v2(v", k, ", w) : f32 [?, 4]\n", "b", k, " = relu(a", k, ") : f32 [?, 4]\n");
    absl::StrAppend(&text, "c", k, " = matmul_v2(b", k, ", w) : f32 [?, 4]\n", "d", k, " = tanh(c", k, ") : f32 [?, 4]\n");
    absl::StrAppend(&text, "e", k, " = sigmoid(d", k, ") : f32 [?, 4]\n", "v", k + 1, " = elementwise_add(v", k, ", e", k,
                    ") : f32 [?, 4]\n");
  }
  return absl::StrCat(text, "y = softmax(v", blocks, ") : f32 [?, 4]\nfetch y\n");
}

// Low and fp32, an inserted cast, a guard region, and a block of control flow.
inline constexpr char kBranch[] = R"(program branch version=1

block main {
  feed  x : f32 [?, 4]
  feed  flag : bool [1]
  param w : f16 [4, 4] = 0.1
  carry y : f16 [?, 4]
  h = cast(x) in_dtype=f32 out_dtype=f16 !amp=inserted : f16 [?, 4]
  g = relu(h) !guard=1 : f16 [?, 4]
  k = exp(x) !guard=1 : f32 [?, 4]
  y <- conditional_block(Cond=[flag], Input=[g]) is_scalar_condition=true sub_block=&then
  out = sigmoid(y) : f16 [?, 4]
  fetch out, k
}

block then parent=main {
  y <- matmul_v2(g, w)
}
)";

}  // namespace ampc::testing
