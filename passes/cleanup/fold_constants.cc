#include "passes/cleanup/fold_constants.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/analysis/use_def.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

class ConstantFolder {
 public:
  ConstantFolder(PassContext& ctx, int64_t max_bytes, bool shapes, Program& program)
      : ctx_(ctx), max_bytes_(max_bytes), shapes_(shapes), program_(program), uses_(program) {}

  bool Run() {
    bool changed = false;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      std::vector<std::unique_ptr<Op>> ops = program_.block(b).TakeOps();
      for (std::unique_ptr<Op>& op : ops) {
        if (!Fold(*op)) continue;
        op.reset();
        changed = true;
      }
      std::erase(ops, nullptr);
      program_.block(b).SetOps(std::move(ops));
    }
    return changed;
  }

 private:
  bool Fold(const Op& op) {
    if (!op.def().pure || op.def().opaque || op.outputs().empty() || !op.SubBlocks().empty()) return false;
    for (const Var* var : op.outputs()) {
      if (var->kind != VarKind::kTemp || uses_.fetched(*var) || var->type.kind != TypeKind::kTensor || var->type.lod_level > 0)
        return false;
      const int64_t n = var->type.NumElements();
      if (n >= 0 && n > max_bytes_ / static_cast<int64_t>(std::max<size_t>(SizeOf(var->type.dtype), 1))) return false;
    }
    if (shapes_ && FoldShape(op)) return true;
    std::vector<const HostTensor*> operands;
    for (const Var* var : op.inputs()) {
      if (var->kind != VarKind::kConst || var->literal == nullptr) return false;
      operands.push_back(var->literal.get());
    }
    if (ctx_.evaluator == nullptr) return false;
    absl::StatusOr<std::vector<HostTensor>> results = ctx_.evaluator->Evaluate(op, operands);
    if (!results.ok() || results->size() != op.outputs().size()) return false;
    for (size_t i = 0; i < results->size(); ++i) SetLiteral(*op.outputs()[i], std::move((*results)[i]));
    return true;
  }

  // Not beside loops, where a declared shape may be that of one iteration; a plan folds it there.
  bool FoldShape(const Op& op) {
    if (program_.num_blocks() > 1) return false;
    if (op.type() != "shape" || !op.inputs()[0]->type.IsStatic()) return false;
    const Dims& dims = op.inputs()[0]->type.dims;
    Var& out = *op.outputs()[0];
    const int64_t count[] = {static_cast<int64_t>(dims.size())};
    if (out.type.dtype == DType::kI64) {
      SetLiteral(out, HostTensor::FromValues<int64_t>(count, dims));
      return true;
    }
    if (out.type.dtype != DType::kI32) return false;
    const std::vector<int32_t> values(dims.begin(), dims.end());
    SetLiteral(out, HostTensor::FromValues<int32_t>(count, values));
    return true;
  }

  static void SetLiteral(Var& var, HostTensor value) {
    var.kind = VarKind::kConst;
    var.type.has_rank = true;
    var.type.dims.assign(value.dims().begin(), value.dims().end());
    var.literal = std::make_shared<const HostTensor>(std::move(value));
  }

  PassContext& ctx_;
  int64_t max_bytes_;
  bool shapes_;
  Program& program_;
  UseDef uses_;
};

}  // namespace

PassInfo FoldConstantsPass() {
  PassInfo info;
  info.name = "fold-constants";
  info.summary = "replaces results that need no input by literals";
  info.options = {{"max_bytes", "size of the largest literal to make, default 16777216"},
                  {"shapes", "fold the shapes of values of known size, too: true (default)"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    int64_t max_bytes = 16 << 20;
    auto it = options.find("max_bytes");
    if (it != options.end() && (!absl::SimpleAtoi(it->second, &max_bytes) || max_bytes < 0)) {
      return UsageError(absl::StrCat("option max_bytes is '", it->second, "', needs a number of bytes"));
    }
    AMPC_ASSIGN_OR_RETURN(const bool shapes, BoolOption(options, "shapes", true));
    return MakePass([max_bytes, shapes](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
      return ConstantFolder(ctx, max_bytes, shapes, program).Run();
    });
  };
  return info;
}

}  // namespace ampc
