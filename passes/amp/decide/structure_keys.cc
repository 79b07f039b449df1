#include "passes/amp/decide/structure_keys.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "graph/base/fnv.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/dataflow.h"

namespace ampc {
namespace {

constexpr int kRounds = 4;
constexpr int64_t kSmallConstant = 16;  // elements

uint64_t Mix(uint64_t hash, uint64_t more) {
  hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

// The same for values of several widths: exporters choose them as they like. Blocks and names say nothing.
struct HashValue {
  template <typename T>
  uint64_t operator()(const T& value) const {
    if constexpr (std::is_arithmetic_v<T>) {
      return Fnv1a(absl::StrCat(value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      return Fnv1a(value);
    } else if constexpr (std::is_same_v<T, DType>) {
      return static_cast<uint64_t>(value);
    } else {
      return 0;
    }
  }
  template <typename T>
  uint64_t operator()(const std::vector<T>& values) const {
    uint64_t hash = values.size();
    for (const T& value : values) hash = Mix(hash, (*this)(value));
    return hash;
  }
};

uint64_t HashStored(const Var& var) {
  uint64_t hash = Mix(static_cast<uint64_t>(var.was == DType::kInvalid ? var.type.dtype : var.was), static_cast<uint64_t>(var.type.rank()));
  for (const int64_t dim : var.type.dims) hash = Mix(hash, static_cast<uint64_t>(dim));
  const bool small = var.literal != nullptr && var.was == DType::kInvalid && var.literal->num_elements() <= kSmallConstant;
  if (!small) return hash;
  const absl::Span<const std::byte> bytes = var.literal->bytes();
  return Fnv1a(absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), hash);
}

uint64_t HashAlone(const Op& op) {
  uint64_t hash = Fnv1a(onnx::TypeName(op.def()));
  for (const AttrDef& attr : op.def().attrs) {
    if (attr.extra || attr.retarget) continue;
    if (const AttrValue* value = op.attr(attr.name)) hash = Mix(Mix(hash, Fnv1a(attr.name)), std::visit(HashValue(), *value));
  }
  return Mix(hash, op.outputs().size());
}

}  // namespace

std::vector<uint64_t> StructureKeys(const Program& program) {
  const ValueFlow flow(program);
  std::vector<uint64_t> alone(program.num_op_ids(), 0), now, next;
  for (const Op* op : flow.ops()) alone[op->id()] = HashAlone(*op);
  now = alone;
  std::vector<uint64_t> readers;
  for (int round = 0; round < kRounds; ++round) {
    next = now;
    for (const Op* op : flow.ops()) {
      uint64_t hash = Mix(alone[op->id()], now[op->id()]);
      for (const Var* var : op->inputs()) {
        const Var& root = flow.Root(*var);
        const Op* maker = flow.Maker(root);
        hash = Mix(hash, maker != nullptr ? now[maker->id()] : IsStored(root) ? HashStored(root) : static_cast<uint64_t>(root.kind));
      }
      for (const Var* var : op->outputs()) {
        readers.clear();
        for (const int32_t at : flow.Readers(*var)) readers.push_back(now[flow.ops()[at]->id()]);
        std::sort(readers.begin(), readers.end());  // the order of ops that do not depend on each other says nothing
        for (const uint64_t reader : readers) hash = Mix(hash, reader);
      }
      next[op->id()] = hash;
    }
    now.swap(next);
  }
  return now;
}

}  // namespace ampc
