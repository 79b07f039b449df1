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

std::vector<OpUnit> MakeUnits(const std::vector<const Op*>& ops, int most) {
  std::vector<OpUnit> units;
  if (ops.empty()) return units;
  const size_t limit = static_cast<size_t>(std::max(most, 1));
  std::vector<size_t> begins = Begins(ops);
  if (ops.size() <= limit || begins.size() == 1) {  // op by op, or by their number alone
    begins.resize(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) begins[i] = i;
  }
  const size_t count = std::min(begins.size(), limit);
  for (size_t i = 0; i < count; ++i) {
    const size_t from = begins[i * begins.size() / count];
    const size_t to = i + 1 < count ? begins[(i + 1) * begins.size() / count] : ops.size();
    units.push_back(Part(ops, from, to));
  }
  return units;
}

std::vector<OpUnit> Split(const OpUnit& unit) {
  const std::vector<size_t> begins = Begins(unit.ops);
  const size_t middle = begins.size() > 1 ? begins[begins.size() / 2] : unit.ops.size() / 2;
  return {Part(unit.ops, 0, middle), Part(unit.ops, middle, unit.ops.size())};
}

}  // namespace ampc
