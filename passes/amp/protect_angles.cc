// Angles and remainders: the larger a value, the more of what is left without its whole turns is rounding. The same of places in images.
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect_util.h"
#include "passes/amp/protector.h"
#include "passes/analysis/block_links.h"
#include "passes/analysis/op_kinds.h"

namespace ampc {
namespace {

constexpr char kLeadsToPlace[] = "protect.place: becomes a place in an image, where the error of a coordinate is one of many pixels' values";
constexpr char kLeadsToAngle[] = "protect.angle: becomes an angle or a remainder, where the error of a large value is a large error";
// An angle up to here has as small an error as any value of its size.
constexpr double kSmallAngle = 4;
// A point has up to four coordinates: what multiplies it with frequencies adds up no more products.
constexpr int64_t kMostCoordinates = 4;
// Ops between a value and its multiple of whole numbers.
constexpr int kMostMoves = 8;

bool IsTransposed(const Op& op, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (op.GetBool(name) || op.GetInt(name) != 0) return true;
  }
  return false;
}

// The size of the dimension that a product adds up, from one operand's type.
int64_t InnerDim(const TensorType& type, bool is_last) {
  const int rank = type.rank();
  if (!type.has_rank || rank == 0) return kUnknownDim;
  return type.dims[is_last || rank == 1 ? rank - 1 : rank - 2];
}

// No label is summed over: "i,j->ij".
bool IsOuter(absl::string_view equation) {
  const std::vector<absl::string_view> sides = absl::StrSplit(equation, "->");
  if (sides.size() != 2) return false;
  for (const char c : sides[0]) {
    if (c != ',' && c != ' ' && !absl::StrContains(sides[1], c)) return false;
  }
  return true;
}

// The product of positions and frequencies, not of a network's values and weights.
bool IsProductOfPositions(const Op& op) {
  if (onnx::NativeName(op.def()) == "einsum") return IsOuter(op.GetString("equation"));
  const std::optional<int64_t> terms = TermsOfProduct(op);
  return terms.has_value() && IsKnown(*terms) && *terms <= kMostCoordinates;
}

bool IsNetworkProduct(const Op& op) { return ClassOf(op) == AmpClass::kAllow && !IsProductOfPositions(op); }

}  // namespace

std::optional<int64_t> TermsOfProduct(const Op& op) {
  const absl::string_view name = onnx::NativeName(op.def());
  if ((name != "matmul" && name != "matmul_v2" && name != "bmm") || op.inputs().size() < 2) return std::nullopt;
  const int64_t x = InnerDim(op.inputs()[0]->type, !IsTransposed(op, {"trans_x", "transpose_X", "transA"}));
  const int64_t y = InnerDim(op.inputs()[1]->type, IsTransposed(op, {"trans_y", "transpose_Y", "transB"}));
  return IsKnown(x) ? x : y;
}

void Protector::FollowProducts(const Op& op) {
  // A sum of many has more digits than its elements.
  const bool sums = Is(op, OpKind::kSum) || Is(op, OpKind::kRunning);
  if (!IsNetworkProduct(op) && (sums || !Reads(op, kProduct))) return;
  for (const Var* var : op.outputs()) {
    if (var->type.IsFloat()) flags_[var->id()] |= kProduct;
  }
}

// The one operand that is not stored or made from constants.
const Var* Protector::OnlyComputed(const Op& op) const {
  const Var* only = nullptr;
  for (const Var* var : op.inputs()) {
    const Var& root = roots_.Root(*var);
    if (IsFixed(root)) continue;
    if (only != nullptr && only != &root) return nullptr;
    only = &root;
  }
  return only;
}

bool Protector::IsFraction(const Op& op, std::vector<const Var*>* made_from) const {
  if (!may_be_whole_ || !Is(op, OpKind::kAdditive) || Is(op, OpKind::kSelection) || op.inputs().size() != 2 || !HasF32(op.outputs())) return false;
  for (int i = 0; i < 2; ++i) {
    const size_t before = made_from->size();
    const Var* var = &In(op, i);
    bool whole = false;
    for (int moves = 0; moves < kMostMoves && var != nullptr; ++moves) {
      made_from->push_back(var);
      if (whole && var == &In(op, 1 - i)) return true;
      const Op* definer = definers_[var->id()];
      if (definer == nullptr || !HandsOn(*definer)) break;
      whole = whole || Is(*definer, OpKind::kWhole) || (IsCast(*definer) && IsInteger(var->type.dtype));
      var = OnlyComputed(*definer);
    }
    made_from->resize(before);
  }
  return false;
}

// An op that joins two values of a network makes neither more exact.
bool Protector::LeadsToAngle(const Op& op) const {
  if (op.def().opaque || !op.SubBlocks().empty() || IsNetworkProduct(op)) return false;
  const Var* product = nullptr;
  for (const Var* var : op.inputs()) {
    const Var& root = roots_.Root(*var);
    if (!Has(root, kProduct) || product == &root) continue;
    if (product != nullptr) return false;
    product = &root;
  }
  return true;
}

void Protector::ProtectAngles() {
  std::vector<const Var*> todo;
  ForEachOp(program_, [&](const Op& op) {
    if (IsInserted(op) || op.inputs().empty()) return;
    const bool remainder = Is(op, OpKind::kRemainder) && HasF32(op.outputs());
    if (remainder || (Is(op, OpKind::kTurns) && !(bounds_.Of(*op.inputs()[0]).Magnitude() <= kSmallAngle))) {
      for (const Var* var : op.inputs()) todo.push_back(var);
    }
    if (IsFraction(op, &todo) || remainder) Because(op, kLeadsToAngle);
  });
  ProtectSources(std::move(todo), kLeadsToAngle);
}

void Protector::ProtectPlaces() {
  std::vector<const Var*> places;
  ForEachOp(program_, [&](const Op& op) {
    if (!IsInserted(op) && Is(op, OpKind::kSampler) && op.inputs().size() > 1) places.push_back(op.inputs()[1]);
  });
  ProtectSources(std::move(places), kLeadsToPlace);
}

void Protector::ProtectSources(std::vector<const Var*> todo, const char* reason) {
  if (todo.empty()) return;
  absl::flat_hash_map<int, std::vector<const Var*>> beyond;  // by Var::id: the same value on the other side of a subgraph's border
  for (const BlockLink& link : BlockLinks(program_)) beyond[link.to->id()].push_back(&roots_.Root(*link.from));
  std::vector<bool> seen(program_.num_var_ids(), false);
  while (!todo.empty()) {
    const Var& var = roots_.Root(*todo.back());
    const int id = var.id();
    const bool skip = seen[id] || !var.type.IsFloat();
    todo.pop_back();
    if (skip) continue;
    seen[id] = true;
    if (const auto it = beyond.find(id); it != beyond.end()) todo.insert(todo.end(), it->second.begin(), it->second.end());
    const Op* op = definers_[id];
    if (op == nullptr || !LeadsToAngle(*op)) continue;
    Because(*op, reason);
    if (Is(*op, OpKind::kNormalized)) continue;  // what its operand loses does not show
    for (const Var* operand : op->inputs()) todo.push_back(operand);
  }
}

}  // namespace ampc
