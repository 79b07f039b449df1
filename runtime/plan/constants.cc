#include "runtime/plan/constants.h"

#include "absl/strings/str_cat.h"
#include "graph/base/dtype.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/storage.h"

namespace ampc {
namespace {

// By Var::id: an op or a fetch names it. Passes leave weights behind that nothing reads any more.
std::vector<bool> Named(const Program& program) {
  std::vector<bool> named(program.num_var_ids());
  ForEachOp(program, [&named](const Op& op) {
    for (absl::Span<Var* const> side : {op.inputs(), op.outputs()}) {
      for (const Var* var : side) named[var->id()] = true;
    }
  });
  for (const Var* fetch : program.fetches) named[fetch->id()] = true;
  return named;
}

}  // namespace

absl::StatusOr<Constants> Constants::Load(const Program& program, const StateTable* states) {
  Constants constants;
  constants.values_.resize(program.num_var_ids());
  const std::vector<bool> named = Named(program);
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      if (states != nullptr && states->Find(*var) != nullptr) continue;
      std::shared_ptr<const HostTensor>& slot = constants.values_[var->id()];
      if (var->literal != nullptr) {
        slot = var->literal;
        if (!IsLowPrecision(var->literal->dtype())) continue;
        AMPC_ASSIGN_OR_RETURN(HostTensor value, ToStorage(*var->literal));
        slot = std::make_shared<const HostTensor>(std::move(value));
      } else if (var->weight != nullptr && !named[var->id()]) {
        continue;
      } else if (var->weight != nullptr) {
        if (!var->type.IsStatic())
          return BadInputError(absl::StrCat("'", var->name(), "' has a stored value but no fixed shape: ", ToString(var->type)));
        AMPC_ASSIGN_OR_RETURN(HostTensor value, LoadWeight(*var->weight, var->type.dims));
        AMPC_ASSIGN_OR_RETURN(HostTensor wide, ToStorage(std::move(value)));
        slot = std::make_shared<const HostTensor>(std::move(wide));
        var->weight->source->Release(var->weight->offset, var->weight->bytes);
      } else if (var->kind == VarKind::kParam) {
        return BadInputError(absl::StrCat("param '", var->name(), "' has no stored value: the program was loaded without its weights"));
      }
    }
  }
  return constants;
}

}  // namespace ampc
