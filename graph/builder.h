// ProgramBuilder: writes a Program op by op. Result types come from inference; names are stable (conv2d_0.w_0, fc_1.tmp_0).
//
//   ProgramBuilder b;
//   Value x = b.Feed("x", DType::kF32, {-1, 784});
//   Value h = b.FullyConnected(x, 10, {.act = "relu"});
//   b.Fetch(h);
//   absl::StatusOr<Program> program = b.Build();
//
// The first error is kept; after it every call does nothing and returns an empty Value, and Build returns the error.
// Initial values travel with the program as weights in memory. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/initializer.h"
#include "graph/program.h"
#include "graph/training_program.h"

namespace ampc {

// A variable of the builder's program; empty after an error. Valid as long as the builder.
struct Value {
  Var* var = nullptr;
};

struct SlotValues {
  std::string slot;
  std::vector<Value> values;
};

struct Conv2DOptions {
  int filters = 0;  // required
  int kernel = 1, stride = 1, padding = 0, dilation = 1, groups = 1;
  bool bias = true;
  std::string act = {};  // "", "relu", "sigmoid", "tanh", ...: an op with X and Out
};
struct BatchNormOptions {
  std::string act = {};
  float momentum = 0.9f, epsilon = 1e-5f;
};
struct Pool2DOptions {
  std::string type = "max";  // or "avg"
  int size = 1, stride = 1, padding = 0;
  bool global = false;
};
struct FullyConnectedOptions {
  std::string act = {};
  bool bias = true;
  int flatten = 1;  // leading dimensions that are kept; the others become one
};
struct MatmulOptions {
  bool trans_x = false, trans_y = false;
};
struct CrossEntropyOptions {
  bool soft_label = false;
  int axis = -1;
};

class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name = "main", uint64_t seed = 0);
  ProgramBuilder(const ProgramBuilder&) = delete;

  // A dimension of -1 is not known.
  Value Feed(std::string name, DType dtype, Dims dims);
  Value Param(std::string name, DType dtype, Dims dims, Initializer init = {});
  Value State(std::string name, DType dtype, Dims dims, Initializer init = {});
  Value Const(std::string name, HostTensor value);
  void Fetch(Value value);

  // Any op: operands by slot; one new result in each required result slot. Returns the first of them.
  Value Op(absl::string_view type, std::vector<SlotValues> operands, std::vector<Attr> attrs = {});
  // The same with results by slot: an empty Value is a new result, another one is overwritten. Returns them all in order.
  std::vector<Value> Op(absl::string_view type, std::vector<SlotValues> operands, std::vector<Attr> attrs, std::vector<SlotValues> results);

  Value Conv2D(Value x, const Conv2DOptions& options);
  Value BatchNorm(Value x, const BatchNormOptions& options = {});
  Value Pool2D(Value x, const Pool2DOptions& options);
  Value FullyConnected(Value x, int size, const FullyConnectedOptions& options = {});
  Value Matmul(Value x, Value y, const MatmulOptions& options = {});
  Value Add(Value x, Value y, int axis = -1);
  Value Relu(Value x) { return Activation("relu", x); }
  Value Softmax(Value x, int axis = -1);
  Value Mean(Value x);
  // The loss, [..., 1]; `label` holds class numbers, or probabilities with soft_label.
  Value SoftmaxWithCrossEntropy(Value logits, Value label, const CrossEntropyOptions& options = {});
  // Any op from X to Out; "" is `x` itself.
  Value Activation(absl::string_view type, Value x);

  // A copy, verified; the first error otherwise. The builder may go on afterwards. Converts to a Program for what is only run.
  absl::StatusOr<TrainingProgram> Build() const;
  // A copy for inference: is_test on every op that has it, and no writes to state by those.
  Program CloneForTest() const;
  // The program so far, for what rewrites it in place: gradients, optimizers.
  Program& program() { return program_; }
  // The ops that give states their first values, where they come from no initializer; for optimizers.
  Program& startup() { return startup_; }
  const absl::Status& status() const { return status_; }
  // Keeps the first error; for extensions of the builder.
  void Fail(absl::Status status);
  // `layer_0`, `layer_1`, ... for a layer type.
  std::string NextLayer(absl::string_view type);
  // Op for a layer that NextLayer named: new results are called `<layer>.tmp_<k>`.
  std::vector<Value> Append(absl::string_view layer, absl::string_view type, std::vector<SlotValues> operands, std::vector<Attr> attrs,
                            std::vector<SlotValues> results);

 private:
  friend class Fp16Guard;
  Value Declare(std::string name, VarKind kind, DType dtype, Dims dims, const Initializer& init);
  Value Append(absl::string_view layer, absl::string_view type, std::vector<SlotValues> operands, std::vector<Attr> attrs = {});
  Value Activate(absl::string_view layer, absl::string_view type, Value x);
  absl::Status CheckValues(absl::string_view type, const std::vector<SlotValues>& slots, bool results) const;
  // The dimension of x; an error, and -1, when it is not known.
  int64_t KnownDim(absl::string_view layer, Value x, int axis);

  Program program_;
  Program startup_;
  uint64_t seed_;
  absl::Status status_;
  std::map<std::string, int> layers_;  // next number by type
  int guard_ = 0, guards_ = 0;         // the current region, and how many there were
};

// Only ops added while a guard lives may become low precision under O2. Each guard is a region of its own; an inner one ends first.
class Fp16Guard {
 public:
  explicit Fp16Guard(ProgramBuilder& builder) : builder_(builder), outer_(builder.guard_) { builder.guard_ = ++builder.guards_; }
  ~Fp16Guard() { builder_.guard_ = outer_; }
  Fp16Guard(const Fp16Guard&) = delete;

 private:
  ProgramBuilder& builder_;
  int outer_;
};

}  // namespace ampc
