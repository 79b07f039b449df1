#include "runtime/plan/constants.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/dtype.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/op_record.h"
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

// An op that packs a constant operand for itself, or moves it in whichever width it has.
bool TakesHalves(const Op& op, const KernelRegistry& kernels) {
  const KernelEntry* entry = kernels.Find(op.type());
  return entry != nullptr && (entry->halves == HalfSupport::kMoves || AmpClassOf(op) == AmpClass::kAllow);
}

// By Var::id: all that read it take halves.
std::vector<bool> StaysHalf(const Program& program, const KernelRegistry* kernels) {
  std::vector<bool> stays(program.num_var_ids(), kernels != nullptr);
  if (kernels == nullptr) return stays;
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.outputs()) stays[var->id()] = false;
    if (TakesHalves(op, *kernels)) return;
    for (const Var* var : op.inputs()) stays[var->id()] = false;
  });
  for (const Var* fetch : program.fetches) stays[fetch->id()] = false;
  return stays;
}

}  // namespace

absl::StatusOr<Constants> Constants::Load(const Program& program, const StateTable* states, const KernelRegistry* kernels) {
  Constants constants;
  constants.values_.resize(program.num_var_ids());
  const std::vector<bool> named = Named(program), half = StaysHalf(program, kernels);
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      if (states != nullptr && states->Find(*var) != nullptr) continue;
      if (var->literal != nullptr) {
        AMPC_RETURN_IF_ERROR(constants.Set(*var, var->literal, half[var->id()]));
      } else if (var->weight != nullptr && !named[var->id()]) {
        continue;
      } else if (var->weight != nullptr) {
        if (!var->type.IsStatic())
          return BadInputError(absl::StrCat("'", var->name(), "' has a stored value but no fixed shape: ", ToString(var->type)));
        AMPC_ASSIGN_OR_RETURN(HostTensor value, LoadWeight(*var->weight, var->type.dims));
        AMPC_RETURN_IF_ERROR(constants.Set(*var, std::make_shared<const HostTensor>(std::move(value)), half[var->id()]));
        var->weight->source->Release(var->weight->offset, var->weight->bytes);
      } else if (var->kind == VarKind::kParam) {
        return BadInputError(absl::StrCat("param '", var->name(), "' has no stored value: the program was loaded without its weights"));
      }
    }
  }
  return constants;
}

absl::Status Constants::Set(const Var& var, std::shared_ptr<const HostTensor> value, bool may_stay_half) {
  constexpr int64_t kLarge = 4096;  // elements; below, values are read to infer shapes, and their memory does not count
  std::shared_ptr<const HostTensor>& slot = values_[var.id()];
  if (may_stay_half && IsHalf(value.get()) && value->num_elements() >= kLarge) {
    halves_.emplace(value.get(), std::make_shared<HalfConstant>(value));
  } else if (IsHalf(value.get())) {
    AMPC_ASSIGN_OR_RETURN(HostTensor wide, ToStorage(*value));
    value = std::make_shared<const HostTensor>(std::move(wide));
  }
  slot = std::move(value);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const HostTensor>> Constants::InStorage(const HostTensor* value) const {
  const auto at = halves_.find(value);
  if (at == halves_.end()) return std::shared_ptr<const HostTensor>(std::shared_ptr<const HostTensor>(), value);
  return at->second->Widened();
}

void Constants::DeclareTo(WeightCache& cache) const {
  for (const std::shared_ptr<const HostTensor>& value : values_) {
    if (value == nullptr) continue;
    const auto at = halves_.find(value.get());
    if (at == halves_.end()) {
      cache.AddLasting(value.get());
    } else {
      cache.AddLasting(at->second->widened_address(), [half = at->second] { return half->Widened(); });
    }
  }
}

}  // namespace ampc
