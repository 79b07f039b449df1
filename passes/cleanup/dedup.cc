#include "passes/cleanup/dedup.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "graph/attr_hash.h"
#include "passes/analysis/use_def.h"
#include "passes/analysis/versions.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

class Deduper {
 public:
  explicit Deduper(Program& program)
      : program_(program), versions_(program), fetched_(program.num_var_ids(), false), target_(program.num_var_ids(), nullptr) {
    for (const Var* var : program.fetches) fetched_[var->id()] = true;
  }

  bool Run() {
    for (int b = 0; b < program_.num_blocks(); ++b) {
      Block& block = program_.block(b);
      seen_.clear();
      JoinConstants(block);
      std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
      std::vector<std::unique_ptr<Op>> kept;
      kept.reserve(ops.size());
      block.SetOps({});
      for (std::unique_ptr<Op>& op : ops) {
        for (int i = 0; i < static_cast<int>(op->inputs().size()); ++i) {
          Var* other = target_[op->inputs()[i]->id()];
          if (other == nullptr) continue;
          op->ReplaceInput(i, other);
          changed_ = true;
        }
        if (Replaced(*op)) {
          changed_ = true;
        } else {
          versions_.After(*op);
          kept.push_back(std::move(op));
        }
      }
      block.SetOps(std::move(kept));
    }
    if (changed_) RemoveUnusedVars(program_);
    return changed_;
  }

 private:
  // One of the block's small constants stands for all that are equal. Many a number is written where it is used.
  void JoinConstants(const Block& block) {
    constexpr int64_t kMost = 64;  // elements
    absl::flat_hash_map<std::string, std::vector<Var*>> equal;
    for (const std::unique_ptr<Var>& var : block.vars()) {
      if (var->kind != VarKind::kConst || var->literal == nullptr || var->literal->num_elements() > kMost) continue;
      const absl::Span<const std::byte> bytes = var->literal->bytes();
      std::vector<Var*>& bucket = equal[std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())];
      for (Var* first : bucket) {
        if (first->type == var->type && *first->literal == *var->literal) target_[var->id()] = first;
      }
      if (target_[var->id()] == nullptr) bucket.push_back(var.get());
    }
  }

  struct Entry {
    const Op* op;
    std::vector<int> versions;
  };

  bool Replaced(const Op& op) {
    if (!op.def().pure || op.def().opaque || op.inputs().empty() || op.outputs().empty() || !op.SubBlocks().empty()) return false;
    for (const Var* var : op.outputs()) {
      if (var->kind != VarKind::kTemp) return false;
    }
    std::vector<int> versions;
    versions.reserve(op.inputs().size());
    size_t hash = absl::HashOf(&op.def());
    for (const Var* var : op.inputs()) {
      versions.push_back(versions_.Of(*var));
      hash = absl::HashOf(hash, var->id(), versions.back());
    }
    uint64_t attrs = 0;  // a sum: their order does not count
    for (const Attr& attr : op.attrs()) {
      Hash one;
      HashAttr(attr.value, one.Bytes(attr.name));
      attrs += one.value();
    }
    std::vector<Entry>& bucket = seen_[absl::HashOf(hash, attrs)];
    for (const Entry& entry : bucket) {
      if (entry.versions == versions && Same(*entry.op, op)) return Stands(*entry.op, op);
    }
    bucket.push_back({&op, std::move(versions)});
    return false;
  }

  static bool Same(const Op& a, const Op& b) {
    if (&a.def() != &b.def() || a.attrs().size() != b.attrs().size() || !(a.marks == b.marks)) return false;
    if (a.inputs() != b.inputs() || a.outputs().size() != b.outputs().size()) return false;
    for (size_t i = 0; i < a.inputs().size(); ++i) {
      if (a.InputSlotOf(static_cast<int>(i)) != b.InputSlotOf(static_cast<int>(i))) return false;
    }
    for (size_t i = 0; i < a.outputs().size(); ++i) {
      if (a.OutputSlotOf(static_cast<int>(i)) != b.OutputSlotOf(static_cast<int>(i)) || !(a.outputs()[i]->type == b.outputs()[i]->type))
        return false;
    }
    for (const Attr& attr : a.attrs()) {
      const AttrValue* other = b.explicit_attr(attr.name);
      if (other == nullptr || !SameAttr(attr.value, *other)) return false;
    }
    return true;
  }

  // Lets the results of `first` stand for those of `again`; not when a fetched name would be lost.
  bool Stands(const Op& first, const Op& again) {
    for (const Var* var : again.outputs()) {
      if (fetched_[var->id()]) return false;
    }
    for (size_t i = 0; i < again.outputs().size(); ++i) target_[again.outputs()[i]->id()] = first.outputs()[i];
    return true;
  }

  Program& program_;
  Versions versions_;
  std::vector<bool> fetched_;
  std::vector<Var*> target_;  // by Var::id: what stands for it
  absl::flat_hash_map<size_t, std::vector<Entry>> seen_;
  bool changed_ = false;
};

}  // namespace

PassInfo DedupPass() {
  return SimplePass("dedup", "computes the same thing once",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return Deduper(program).Run(); });
}

}  // namespace ampc
