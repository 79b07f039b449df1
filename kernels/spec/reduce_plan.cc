#include "kernels/spec/reduce_plan.h"

#include <functional>
#include <numeric>

namespace ampc {
namespace {

int64_t Product(const std::vector<int64_t>& dims) { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }

struct Group {
  int64_t size, stride;
  bool reduce;
};

}  // namespace

int64_t ReducePlan::NumKept() const { return Product(kept); }
int64_t ReducePlan::NumReduced() const { return Product(reduced); }

ReducePlan PlanReduce(absl::Span<const int64_t> dims, const std::vector<bool>& reduce) {
  std::vector<Group> groups;  // outermost first, neighbours of one kind joined
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) continue;
    if (!groups.empty() && groups.front().reduce == reduce[d]) {
      groups.front().size *= dims[d];
    } else {
      groups.insert(groups.begin(), {dims[d], stride, reduce[d]});
    }
    stride *= dims[d];
  }
  ReducePlan plan;
  if (!groups.empty() && !groups.back().reduce) {
    plan.columns = groups.back().size;
    groups.pop_back();
  }
  if (!groups.empty()) {  // a reduced group now: kinds alternate
    plan.rows = groups.back().size;
    groups.pop_back();
  }
  for (const Group& g : groups) {
    (g.reduce ? plan.reduced : plan.kept).push_back(g.size);
    (g.reduce ? plan.reduced_stride : plan.kept_stride).push_back(g.stride);
  }
  return plan;
}

}  // namespace ampc
