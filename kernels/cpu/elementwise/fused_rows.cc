#include "kernels/cpu/elementwise/fused_rows.h"

#include <algorithm>
#include <utility>

namespace ampc {

FusedRows JoinFused(const FusedSpec& spec) {
  struct Axis {
    int64_t size;
    std::vector<int64_t> stride;
  };
  const size_t n = spec.operands.size();
  std::vector<Axis> axes;  // innermost first
  std::vector<int64_t> elements(n, 1);
  int64_t whole = 1;
  for (size_t d = spec.whole.size(); d-- > 0;) {
    whole *= spec.whole[d];
    Axis axis{spec.whole[d], std::vector<int64_t>(n)};
    for (size_t i = 0; i < n; ++i) {
      axis.stride[i] = spec.operands[i][d] == 1 ? 0 : elements[i];
      elements[i] *= spec.operands[i][d];
    }
    if (axis.size == 1) continue;
    bool joins = !axes.empty();
    for (size_t i = 0; joins && i < n; ++i) joins = axis.stride[i] == axes.back().stride[i] * axes.back().size;
    if (joins) {
      axes.back().size *= axis.size;
    } else {
      axes.push_back(std::move(axis));
    }
  }
  FusedRows rows;
  rows.operands.resize(n);
  if (!axes.empty()) rows.inner = axes[0].size;
  for (size_t d = 1; d < axes.size(); ++d) {
    rows.outer.push_back(axes[d].size);
    rows.rows *= axes[d].size;
  }
  for (size_t i = 0; i < n; ++i) {
    FusedRows::Operand& x = rows.operands[i];
    for (size_t d = 1; d < axes.size(); ++d) x.stride.push_back(axes[d].stride[i]);
    x.along = !axes.empty() && axes[0].stride[i] != 0;
    x.dense = elements[i] == whole;
    x.repeats = std::all_of(x.stride.begin(), x.stride.end(), [](int64_t s) { return s == 0; });
  }
  return rows;
}

FusedCursor::FusedCursor(const FusedRows& rows, int64_t row) : rows_(rows), at_(rows.outer.size(), 0), offset_(rows.operands.size(), 0) {
  for (size_t d = 0; d < rows.outer.size(); row /= rows.outer[d++]) {
    at_[d] = row % rows.outer[d];
    for (size_t i = 0; i < rows.operands.size(); ++i) offset_[i] += at_[d] * rows.operands[i].stride[d];
  }
}

void FusedCursor::Next() {
  for (size_t d = 0; d < rows_.outer.size(); ++d) {
    const bool wraps = ++at_[d] == rows_.outer[d];
    const int64_t steps = wraps ? 1 - rows_.outer[d] : 1;
    for (size_t i = 0; i < rows_.operands.size(); ++i) offset_[i] += steps * rows_.operands[i].stride[d];
    if (!wraps) return;
    at_[d] = 0;
  }
}

}  // namespace ampc
