#include "passes/amp/decide/fp16_guard.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "passes/make_pass.h"

namespace ampc {

std::string GuardScope(const Op& op) {
  constexpr char kPattern[] = "__use_fp16__";
  const AttrValue* value = op.explicit_attr("op_namescope");
  const std::string* scope = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (scope == nullptr) return "";
  const size_t at = scope->rfind(kPattern);
  if (at == std::string::npos) return "";
  return scope->substr(0, scope->find('/', at));
}

PassInfo Fp16GuardPass() {
  return SimplePass("fp16-guard", "turns fp16_guard name scopes into marks", [](PassContext&, Program& program) -> absl::StatusOr<bool> {
    int next = 1;
    ForEachOp(program, [&](const Op& op) {
      if (GuardScope(op).empty()) next = std::max(next, op.marks.guard + 1);
    });
    absl::flat_hash_map<std::string, int> regions;
    bool changed = false;
    for (int b = 0; b < program.num_blocks(); ++b) {
      for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
        const std::string scope = GuardScope(*op);
        if (scope.empty()) continue;
        const auto [it, added] = regions.try_emplace(scope, next);
        if (added) ++next;
        if (op->marks.guard == it->second) continue;
        op->marks.guard = it->second;
        changed = true;
      }
    }
    return changed;
  });
}

}  // namespace ampc
