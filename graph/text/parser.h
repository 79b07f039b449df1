// Parser of program text (*.prog). The format by example:
//
//   program mlp version=1
//
//   block main {
//     feed  x : f32 [?, 784]
//     param w : f32 [784, 10] trainable = @mlp.safetensors:w
//     state step : i64 [1] = [0]
//     const lr : f32 [] = 0.1
//     h = matmul_v2(x, w) : f32 [?, 10]                                        # short form
//     batch_norm(X=h, Scale=s, Bias=b, Mean=m, Variance=v) -> Y=y, MeanOut<-m epsilon=1e-03 : f32 [?, 10]
//     step <- increment(step) step=1.0                                         # overwrites a param, state or carry
//     i, h <- while(X=[n], Condition=more) sub_block=&body
//     fetch y
//   }
//
//   block body parent=main {                                                 # sees everything declared or defined in main
//     h <- tanh(h)
//   }
//
// One statement per line. Declarations: feed, param, state, const, carry, and temp for a value that no op defines. After the
// type: lod=1 (part of the type), trainable, stop_gradient, as="exported name", !was=f32, and after `=` the value: a literal,
// or `@file:name`, `@file+OFFSET:BYTES:DTYPE`, each followed by transforms as in `|f16(clamp,subnormal)`.
// After an op's attributes: !guard=1, !amp=inserted, !amp=fp32("reason"), !was=f32, !was.out_dtype=f32, !as="name",
// !stop_gradient, !opaque; then `: type, type` for the values that the op defines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"

namespace ampc {

struct ParseOptions {
  std::string file;       // for messages: `file:line: found ..., needed ...`; without it `line: ...`
  std::string directory;  // relative paths of weight files start here; empty: the working directory
  bool bare = false;      // statements without `program` and `block main` around them are allowed too
  // Finds a weight by its name inside a file; null: `@file:name` is refused. `path` has the directory in front.
  std::function<absl::StatusOr<WeightRef>(const std::string& path, absl::string_view name)> find_weight;
  bool open_files = true;  // false: every reference to a file is refused, for text from strangers
  // The most bytes that single values spread over a whole tensor (`= 0.0`) may take in one program.
  int64_t max_fill_bytes = int64_t{4} << 30;
};

// The program that the text spells, not verified: names are resolved, types are as written. Never crashes on any bytes;
// linear in the text. Errors (BadInput) are one sentence: line, what was found, what was needed.
absl::StatusOr<Program> ParseProgram(absl::string_view text, const ParseOptions& options = {});

}  // namespace ampc
