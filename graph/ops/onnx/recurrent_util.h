// Common parts of LSTM, GRU and RNN, and their lowering step by step.
#pragma once

#include <string>
#include <vector>

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

struct Activation {
  std::string name = {};  // as ONNX calls it
  double alpha = 0, beta = 0;
};

// One recurrent op. If a value is not known, `l` is not ok and the rest means nothing.
struct Recurrent {
  explicit Recurrent(Lowering& lowering, int gate_count, int activation_count);

  Lowering& l;
  const int gates;
  int64_t hidden = 0;
  int64_t directions = 1;
  bool reversed = false;  // the only direction is from the end
  bool batch_first = false;
  std::vector<std::vector<Activation>> activations;  // by direction
  Var* x = nullptr;                                  // [time, batch, features]
  // x times what the operand `weight` has for direction d; null: the transposed operand itself.
  using Product = Var* (*)(Recurrent& r, Var* x, const char* weight, int64_t d);
  Product product = nullptr;
  Var* lengths = nullptr;  // of LowerStepByStep: sequence_lens as i64 [batch]

  // Part `d` of an operand that has the directions in dim 0, without it.
  Var* Direction(Var* value, int64_t d);
  // [directions, batch, hidden]; zeros where the operand is not given.
  Var* Initial(const char* formal);
  // [time, batch, directions * hidden] and [directions, batch, hidden] in the layout of the op.
  void SetOutput(Var* all);
  void SetState(const char* formal, Var* last);

 private:
  bool CheckLengths();
  bool ReadActivations(int count);
};

// The op, with whatever options it has, as one step after the other: the number of steps must be known.
void LowerStepByStep(Recurrent& r);

}  // namespace ampc::onnx
