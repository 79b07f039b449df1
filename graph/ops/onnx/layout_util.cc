#include "graph/ops/onnx/layout_util.h"

#include <vector>

namespace ampc::onnx {

Var* ChannelsFirst(Lowering& l, Var* x) {
  const int rank = l.Rank(x);
  if (rank < 3) return x;
  std::vector<int> perm = {0, rank - 1};
  for (int i = 1; i < rank - 1; ++i) perm.push_back(i);
  return l.Transpose(x, perm);
}

Var* ChannelsLast(Lowering& l, Var* x) {
  const int rank = l.Rank(x);
  if (rank < 3) return x;
  std::vector<int> perm = {0};
  for (int i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return l.Transpose(x, perm);
}

}  // namespace ampc::onnx
