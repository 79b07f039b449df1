#include "runtime/tune/op_units.h"

#include <algorithm>
#include <cstddef>

#include "graph/op_record.h"

namespace ampc {
namespace {

bool IsProduct(const Op& op) { return AmpClassOf(op) == AmpClass::kAllow; }

// The indexes at which stretches begin: 0, and each product.
std::vector<size_t> Begins(const std::vector<const Op*>& ops) {
  std::vector<size_t> begins = {0};
  for (size_t i = 1; i < ops.size(); ++i) {
    if (IsProduct(*ops[i])) begins.push_back(i);
  }
  return begins;
}

OpUnit Part(const std::vector<const Op*>& ops, size_t from, size_t to) {
  OpUnit unit;
  unit.ops.assign(ops.begin() + static_cast<std::ptrdiff_t>(from), ops.begin() + static_cast<std::ptrdiff_t>(to));
  return unit;
}

}  // namespace

std::vector<OpUnit> Split(const OpUnit& unit) {
  const std::vector<size_t> begins = Begins(unit.ops);
  const size_t middle = begins.size() > 1 ? begins[begins.size() / 2] : unit.ops.size() / 2;
  return {Part(unit.ops, 0, middle), Part(unit.ops, middle, unit.ops.size())};
}

}  // namespace ampc
