#include "kernels/spec/product/einsum_spec.h"

#include <algorithm>

#include "graph/ops/einsum_equation.h"

namespace ampc {

bool Has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

int64_t SizeOf(const Labels& of, const std::map<int, int64_t>& sizes) {
  int64_t n = 1;
  for (int label : of) n *= sizes.at(label);
  return n;
}

Labelled Dense(const Labels& labels, const std::map<int, int64_t>& sizes) {
  Labelled t;
  t.labels = labels;
  int64_t stride = 1;
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    t.sizes[*label] = sizes.at(*label);
    t.strides[*label] = stride;
    stride *= sizes.at(*label);
  }
  return t;
}

namespace {

// An operand; a dimension of an ellipsis that repeats has no label, since its index is always 0.
Labelled Operand(const Labels& labels, const Dims& dims, const std::map<int, int64_t>& sizes) {
  Labelled t;
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) {
    const int label = labels[i];
    if (dims[i] == 1 && sizes.at(label) != 1) continue;
    if (!Has(t.labels, label)) t.labels.insert(t.labels.begin(), label);
    t.sizes[label] = dims[i];
    t.strides[label] += stride;
  }
  return t;
}

}  // namespace

absl::StatusOr<Equation> ReadEinsum(const SpecView& view) {
  std::vector<int> ranks;
  const int n = view.NumIn("Operands");
  for (int i = 0; i < n; ++i) ranks.push_back(static_cast<int>(view.InDesc("Operands", i).dims.size()));
  const absl::StatusOr<ops::EinsumEquation> parsed = ops::ParseEinsum(view.op().GetString("equation"), ranks);
  if (!parsed.ok()) return view.Internal(parsed.status().message());
  Equation e;
  e.result = parsed->result;
  for (int i = 0; i < n; ++i) {
    const Dims& dims = view.InDesc("Operands", i).dims;
    for (size_t k = 0; k < dims.size(); ++k) {
      const auto [at, added] = e.sizes.try_emplace(parsed->operands[i][k], dims[k]);
      if (!added && at->second == 1) at->second = dims[k];
    }
  }
  for (int i = 0; i < n; ++i) e.operands.push_back(Operand(parsed->operands[i], view.InDesc("Operands", i).dims, e.sizes));
  return e;
}

Roles RolesOf(const Equation& e) {
  Roles r;
  const Labels &a = e.operands[0].labels, &b = e.operands[1].labels;
  for (int label : e.result) {
    const bool in_a = Has(a, label), in_b = Has(b, label);
    (in_a && in_b ? r.batch : in_a ? r.rows : r.cols).push_back(label);
  }
  for (int label : a) {
    if (!Has(e.result, label)) (Has(b, label) ? r.inner : r.sum_a).push_back(label);
  }
  for (int label : b) {
    if (!Has(e.result, label) && !Has(a, label)) r.sum_b.push_back(label);
  }
  return r;
}

Labels Joined(const Labels& a, const Labels& b, const Labels& c) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

}  // namespace ampc
