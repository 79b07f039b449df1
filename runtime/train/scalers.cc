#include "runtime/train/scalers.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace ampc {

std::vector<ScalerView> FindScalers(const Program& program) {
  std::vector<ScalerView> out;
  absl::flat_hash_map<const Var*, size_t> known;
  ForEachOp(program, [&](const Op& op) {
    if (op.type() != "update_loss_scaling") return;
    if (!known.emplace(op.input("PrevLossScaling"), out.size()).second) return;
    out.push_back({op.input("PrevLossScaling"), {op.input("FoundInfinite")}, op.GetFloat("min_loss_scaling")});
  });
  const size_t dynamic = out.size();
  ForEachOp(program, [&](const Op& op) {
    if (op.type() != "check_finite_and_unscale") return;
    const auto [at, added] = known.emplace(op.input("Scale"), out.size());
    if (added) out.push_back({op.input("Scale"), {}});
    if (at->second >= dynamic) out[at->second].found.push_back(op.output("FoundInfinite"));
  });
  return out;
}

std::vector<const Var*> FindLearningRates(const Program& program) {
  std::vector<const Var*> out;
  ForEachOp(program, [&out](const Op& op) {
    const Var* rate = op.def().InputSlot("Param") >= 0 && op.def().InputSlot("LearningRate") >= 0 ? op.input("LearningRate") : nullptr;
    if (rate != nullptr && std::find(out.begin(), out.end(), rate) == out.end()) out.push_back(rate);
  });
  return out;
}

}  // namespace ampc
