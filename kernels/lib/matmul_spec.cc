#include "kernels/lib/matmul_spec.h"

#include <cstddef>
#include <utility>

namespace ampc::onednn {
int64_t Product(absl::Span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

MatmulSpec Simplified(MatmulSpec s) {
  if (Product(s.b_batch) == 1 && !s.trans_a) {
    s.m *= Product(s.a_batch);
    s.a_batch.clear();
    s.b_batch.clear();
    return s;
  }
  std::vector<int64_t> a, b;
  for (size_t i = 0; i < s.a_batch.size(); ++i) {
    const int64_t da = s.a_batch[i], db = s.b_batch[i];
    if (da == 1 && db == 1) continue;
    const bool joins = !a.empty() && ((a.back() == b.back()) == (da == db)) && (a.back() == 1) == (da == 1) && (b.back() == 1) == (db == 1);
    if (joins) {
      a.back() *= da;
      b.back() *= db;
    } else {
      a.push_back(da);
      b.push_back(db);
    }
  }
  s.a_batch = std::move(a);
  s.b_batch = std::move(b);
  return s;
}

}  // namespace ampc::onednn
