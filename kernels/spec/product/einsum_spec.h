// Parameters of einsum and its gradient: the equation by labels, with sizes and strides.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

using Labels = std::vector<int>;

bool Has(const Labels& labels, int label);

// The elements that these labels span; 1 for none.
int64_t SizeOf(const Labels& of, const std::map<int, int64_t>& sizes);

// A tensor by label: the stride of a label that it has twice is that of its diagonal.
struct Labelled {
  Labels labels;  // each once
  std::map<int, int64_t> sizes, strides;

  int64_t Product(const Labels& of) const { return SizeOf(of, sizes); }
  std::vector<int64_t> Sizes(const Labels& order) const {
    std::vector<int64_t> all;
    for (int label : order) all.push_back(sizes.at(label));
    return all;
  }
  std::vector<int64_t> Strides(const Labels& order) const {
    std::vector<int64_t> all;
    for (int label : order) all.push_back(strides.at(label));
    return all;
  }
};

// Dense in the order of `labels`.
Labelled Dense(const Labels& labels, const std::map<int, int64_t>& sizes);

struct Equation {
  std::vector<Labelled> operands;
  Labels result;
  std::map<int, int64_t> sizes;
};

// Of the op or its gradient.
absl::StatusOr<Equation> ReadEinsum(const SpecView& view);

// The role of each label of a product.
struct Roles {
  Labels batch, rows, cols, inner, sum_a, sum_b;
};

Roles RolesOf(const Equation& e);

Labels Joined(const Labels& a, const Labels& b, const Labels& c);

}  // namespace ampc
