// ShapeSymbols: which values have the same shape, also where dimensions are not known before the run.
//
// Every unknown dimension gets a symbol; ops whose inference keeps a dimension keep its symbol, and windows (convolution, pooling) that do
// the same to a dimension give the same symbol. A snapshot; O(program).
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "graph/program.h"

namespace ampc {

class ShapeSymbols {
 public:
  explicit ShapeSymbols(const Program& program);

  // Both have a rank, and every dimension is the same number or symbol.
  bool Same(const Var& a, const Var& b) const;

 private:
  void Visit(const Op& op);
  void Infer(const Op& op);
  void Window(const Op& op, const Var& in, const Var& out);
  // Symbols of the unknown dimensions of `var` where none was given.
  void Fill(const Var& var);

  std::vector<Dims> dims_;                                                  // by Var::id; negative numbers are symbols
  std::map<std::tuple<int64_t, int64_t, int64_t, bool>, int64_t> windows_;  // {in, stride, padding - reach, ceil} -> out
  int64_t next_ = -2;
};

}  // namespace ampc
