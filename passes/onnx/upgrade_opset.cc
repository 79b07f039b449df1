#include "passes/onnx/upgrade_opset.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/onnx/upgrade_functions.h"
#include "graph/op_record.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/function_body.h"
#include "graph/ops/onnx/onnx_op.h"
#include "passes/amp/select/select_ops.h"
#include "passes/analysis/schema_support.h"
#include "passes/make_pass.h"
#include "passes/onnx/node_draft.h"
#include "passes/onnx/version_changes.h"

namespace ampc {
namespace {

constexpr int kCastOpset = 13;  // the first whose Cast has bf16
constexpr size_t kMostNames = 8;

struct UpgradeOptions {
  DType low = DType::kBF16;
  std::vector<std::string> black_list;
  std::vector<Selector> include, exclude;
};

class OpsetUpgrade {
 public:
  OpsetUpgrade(const UpgradeOptions& options, Program& program)
      : options_(options), program_(program), functions_(onnx::FunctionBlocks(program)) {}

  absl::StatusOr<bool> Run() {
    ForEachOp(program_, [this](const Op& op) {
      if (const onnx::OnnxDef* def = DefOf(op)) have_ = std::max(have_, def->schema->since);
    });
    if (have_ > 0) have_ = std::max(have_, onnx::OpsetOf(program_));
    if (have_ == 0 || options_.low != DType::kBF16) return false;
    AMPC_RETURN_IF_ERROR(FindNeed());
    if (need_ <= have_) return false;
    AMPC_RETURN_IF_ERROR(CheckOpaque());
    return UpgradeAll();
  }

 private:
  absl::StatusOr<std::vector<bool>> Selected(const std::vector<Selector>& selectors) const {
    std::vector<bool> all(program_.num_op_ids(), false);
    OpSelection ops(program_);
    for (const Selector& selector : selectors) {
      AMPC_ASSIGN_OR_RETURN(const std::vector<int> some, ops.Select(selector));
      for (const int id : some) all[id] = true;
    }
    return all;
  }

  absl::Status FindNeed() {
    AMPC_ASSIGN_OR_RETURN(const std::vector<bool> included, Selected(options_.include));
    AMPC_ASSIGN_OR_RETURN(const std::vector<bool> excluded, Selected(options_.exclude));
    need_ = kCastOpset;
    why_ = "Cast";
    ForEachOp(program_, [&](const Op& op) {
      const onnx::OnnxDef* def = DefOf(op);
      if (def == nullptr || !HasF32(op)) return;
      const bool listed =
          std::find(options_.black_list.begin(), options_.black_list.end(), onnx::TypeName(*def)) != options_.black_list.end() ||
          std::find(options_.black_list.begin(), options_.black_list.end(), op.type()) != options_.black_list.end();
      const bool fp32 = op.marks.amp == AmpMark::kFp32 || listed || excluded[op.id()];
      if (!included[op.id()] && (fp32 || AmpClassOf(op) != AmpClass::kAllow)) return;
      const int lowest = LowestFor(*def);
      if (lowest <= need_) return;
      need_ = lowest;
      why_ = def->schema->type;
    });
    return absl::OkStatus();
  }

  // Null for another op, and in the body of a function, which has operator sets of its own.
  const onnx::OnnxDef* DefOf(const Op& op) const { return functions_[op.block().index()] ? nullptr : onnx::DefOf(op.def()); }

  static bool HasF32(const Op& op) {
    for (const Var* var : op.outputs()) {
      if (var->type.dtype == DType::kF32) return true;
    }
    return false;
  }

  // The first operator set from the op's own on in which it may be low; 0 for none.
  int LowestFor(const onnx::OnnxDef& def) const {
    for (int opset = def.schema->since; opset <= onnx::NewestOpset(); ++opset) {
      const OpDef* version = onnx::FindOp(def.schema->type, opset);
      if (version != nullptr && SchemaAllows(*version, options_.low)) return opset;
    }
    return 0;
  }

  std::string Why() const {
    return absl::StrCat(Name(options_.low), " needs operator set ", need_, " (for ", why_, "), the model has ", have_);
  }

  // A node that is carried as it is stays right only if its operator does not change in between.
  absl::Status CheckOpaque() const {
    std::string first;
    ForEachOp(program_, [&](const Op& op) {
      absl::string_view type = op.type();
      if (!op.def().opaque || functions_[op.block().index()] || !absl::ConsumePrefix(&type, "onnx.") || !first.empty()) return;
      if (!onnx::DiffersInTypesAlone(type, have_, need_)) first = Describe(op);
    });
    if (first.empty()) return absl::OkStatus();
    return UnsupportedError(absl::StrCat(Why(), ", and ", first, " is carried as it is, which that set has in another version"));
  }

  absl::StatusOr<bool> UpgradeAll() {
    AMPC_ASSIGN_OR_RETURN(changed_, UpgradeFunctions());
    std::vector<std::string> failed;
    int failures = 0;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      Block& block = program_.block(b);
      std::vector<std::unique_ptr<Op>> out;
      for (std::unique_ptr<Op>& op : block.TakeOps()) {
        if (DefOf(*op) != nullptr) {
          NodeDraft draft(*op, block);
          if (!UpgradeNode(draft, need_)) {
            if (++failures <= static_cast<int>(kMostNames)) failed.push_back(Describe(*op));
          } else if (&draft.def() != &op->def()) {
            changed_ = true;
            draft.AppendTo(need_, &out);
            continue;
          }
        }
        out.push_back(std::move(op));
      }
      block.SetOps(std::move(out));
    }
    if (failures == 0) return changed_;
    return UnsupportedError(absl::StrCat(Why(), ", and these ops have no lossless conversion to it: ", absl::StrJoin(failed, ", "),
                                         failures > static_cast<int>(kMostNames) ? ", ..." : ""));
  }

  absl::StatusOr<bool> UpgradeFunctions() {
    const auto upgrade = [this](const Op& op, Block& block, const std::vector<std::string>& unknown) -> std::unique_ptr<Op> {
      NodeDraft draft(op, block, unknown);
      return UpgradeNode(draft, need_) && !draft.has_others() ? draft.Make() : nullptr;
    };
    const absl::StatusOr<bool> changed = onnx::UpgradeFunctions(need_, upgrade, program_);
    if (!changed.ok())
      return UnsupportedError(absl::StrCat(Why(), ", and this has no lossless conversion to it: ", changed.status().message()));
    return changed;
  }

  const UpgradeOptions& options_;
  Program& program_;
  const std::vector<bool> functions_;
  int have_ = 0, need_ = 0;  // of the model, or the newest version of an op where no file says; and for the type
  std::string why_;
  bool changed_ = false;
};

}  // namespace

PassInfo UpgradeOnnxOpsetPass() {
  PassInfo info;
  info.name = "upgrade-onnx-opset";
  info.summary = "takes ONNX nodes to the lowest operator set whose operators have bf16";
  info.options = {{"dtype", "f16 or bf16 (default): f16 needs nothing"},
                  {"black-list", "op types that stay fp32"},
                  {"include", "selectors of ops that become low"},
                  {"exclude", "selectors of ops that stay fp32"}};
  info.make = [](const PassOptions& text) -> absl::StatusOr<std::unique_ptr<Pass>> {
    UpgradeOptions options;
    AMPC_ASSIGN_OR_RETURN(options.low, LowDTypeOption(text, "dtype", DType::kBF16));
    options.black_list = ListOption(text, "black-list");
    AMPC_ASSIGN_OR_RETURN(options.include, SelectorOption(text, "include"));
    AMPC_ASSIGN_OR_RETURN(options.exclude, SelectorOption(text, "exclude"));
    return MakePass([options](PassContext&, Program& program) -> absl::StatusOr<bool> { return OpsetUpgrade(options, program).Run(); });
  };
  return info;
}

}  // namespace ampc
