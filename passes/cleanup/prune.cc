#include "passes/cleanup/prune.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/without_blocks.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// The slot in which a control op lists the outer values that its body reads, -1 where the record does not say.
int CaptureSlot(const Op& op) {
  if (op.type() == "while") return op.def().InputSlot("X");
  if (op.type() == "conditional_block") return op.def().InputSlot("Input");
  return -1;
}

// Which ops the wanted values need. Every op stands at the position of its op of the main block. An op of the main block reads what was
// written in front of it; an op of a body also what the same op of the main block writes, because of the next iteration.
class Slice {
 public:
  Slice(const Program& program, std::vector<bool> given)
      : program_(program),
        given_(std::move(given)),
        position_(program.num_op_ids(), 0),
        needed_(program.num_op_ids(), false),
        owner_(program.num_blocks(), nullptr),
        next_(program.num_var_ids() + 1, 0),
        end_(program.num_var_ids(), 0) {
    for (size_t i = 0; i < program.main().ops().size(); ++i) Visit(*program.main().ops()[i], static_cast<int>(i));
    for (const Op* op : order_) {
      for (const Var* var : op->outputs()) ++next_[var->id() + 1];
    }
    for (size_t i = 1; i < next_.size(); ++i) next_[i] += next_[i - 1];
    std::copy(next_.begin(), next_.end() - 1, end_.begin());
    writers_.resize(next_.back());
    for (const Op* op : order_) {
      for (const Var* var : op->outputs()) writers_[end_[var->id()]++] = op;
    }
  }

  // The value as it is after the last op.
  void Want(const Var& var) {
    Reach(var, std::numeric_limits<int>::max());
    while (!pending_.empty()) {
      const Op* op = pending_.back();
      pending_.pop_back();
      Expand(*op);
    }
  }
  bool Needs(const Op& op) const { return needed_[op.id()]; }
  // The op that has the block.
  const Op* owner(int block) const { return owner_[block]; }

 private:
  void Visit(const Op& op, int position) {
    position_[op.id()] = position;
    order_.push_back(&op);
    for (int index : op.SubBlocks()) {
      owner_[index] = &op;
      for (const std::unique_ptr<Op>& inner : program_.block(index).ops()) Visit(*inner, position);
    }
  }

  // All writers in front of `limit`; each is looked at once.
  void Reach(const Var& var, int limit) {
    if (given_[var.id()]) return;
    for (int& i = next_[var.id()]; i < end_[var.id()] && position_[writers_[i]->id()] < limit; ++i) Mark(*writers_[i]);
  }

  void Mark(const Op& op) {
    if (needed_[op.id()]) return;
    needed_[op.id()] = true;
    pending_.push_back(&op);
  }

  void Expand(const Op& op) {
    const std::vector<int> blocks = op.SubBlocks();
    const Op* outer = owner_[op.block().index()];
    const int limit = position_[op.id()] + (blocks.empty() && outer == nullptr ? 0 : 1);
    const int captures = CaptureSlot(op);
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      if (captures < 0 || op.InputSlotOf(i) != captures) Reach(*op.inputs()[i], limit);
    }
    if (outer != nullptr) Mark(*outer);
    if (captures >= 0) return;
    for (int index : blocks) {
      for (const std::unique_ptr<Op>& inner : program_.block(index).ops()) Mark(*inner);
    }
  }

  const Program& program_;
  std::vector<bool> given_;       // by Var::id
  std::vector<int> position_;     // by Op::id
  std::vector<bool> needed_;      // by Op::id
  std::vector<const Op*> owner_;  // by block
  std::vector<const Op*> order_, pending_;
  std::vector<const Op*> writers_;  // of var v: [next_[v], end_[v]), by position; next_ moves on
  std::vector<int> next_, end_;
};

class Pruner {
 public:
  Pruner(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches, Program& program)
      : feed_names_(feeds), fetch_names_(fetches), program_(program) {}

  absl::StatusOr<bool> Run() {
    AMPC_RETURN_IF_ERROR(FindSignature());
    std::vector<bool> given(program_.num_var_ids(), false);
    for (const Var* feed : feeds_) given[feed->id()] = true;
    Slice slice(program_, given);
    for (const Var* fetch : fetches_) slice.Want(*fetch);
    AMPC_RETURN_IF_ERROR(CheckFeeds(slice, given));
    std::vector<bool> dead_blocks(program_.num_blocks(), false);
    for (int b = 1; b < program_.num_blocks(); ++b) dead_blocks[b] = slice.owner(b) == nullptr || !slice.Needs(*slice.owner(b));
    for (int b = program_.num_blocks() - 1; b >= 0; --b) {
      if (dead_blocks[b]) {
        program_.block(b).SetOps({});
      } else {
        KeepNeeded(slice, b);
      }
    }
    TakeOverFeeds(given);
    SetSignature();
    RemoveVars();
    if (!changed_) return false;
    if (std::find(dead_blocks.begin(), dead_blocks.end(), true) != dead_blocks.end()) program_ = WithoutBlocks(program_, dead_blocks);
    DropOrigin();
    return true;
  }

 private:
  absl::StatusOr<Var*> Find(absl::string_view what, const std::string& name) const {
    if (Var* var = program_.main().FindVar(name)) return var;
    return UsageError(absl::StrCat("the ", what, " '", name, "' is no value of the main block"));
  }

  absl::Status FindSignature() {
    for (const std::string& name : feed_names_) {
      AMPC_ASSIGN_OR_RETURN(Var * var, Find("feed", name));
      if (var->kind != VarKind::kFeed && var->kind != VarKind::kTemp) {
        return UsageError(absl::StrCat("the feed '", name, "' is a ", Name(var->kind), ", needs a feed or a value that an op defines"));
      }
      feeds_.push_back(var);
    }
    for (const std::string& name : fetch_names_) {
      AMPC_ASSIGN_OR_RETURN(Var * var, Find("fetch", name));
      fetches_.push_back(var);
    }
    if (fetch_names_.empty()) fetches_ = program_.fetches;
    return absl::OkStatus();
  }

  // Which feeds the slice reads against which are given. Without names, those that it reads are the feeds.
  absl::Status CheckFeeds(const Slice& slice, const std::vector<bool>& given) {
    std::vector<bool> read(program_.num_var_ids(), false);
    for (const Var* fetch : fetches_) read[fetch->id()] = true;
    ForEachOp(program_, [&](const Op& op) {
      if (!slice.Needs(op)) return;
      const int captures = CaptureSlot(op);
      for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
        if (captures < 0 || op.InputSlotOf(i) != captures) read[op.inputs()[i]->id()] = true;
      }
    });
    for (Var* feed : program_.feeds) {
      if (!read[feed->id()]) continue;
      if (feed_names_.empty()) feeds_.push_back(feed);
      if (!feed_names_.empty() && !given[feed->id()]) {
        return UsageError(absl::StrCat("the fetches ", FetchNames(), " need the feed '", feed->name(), "', which is not among the given ",
                                       absl::StrJoin(feed_names_, ", ")));
      }
    }
    for (const Var* feed : feeds_) {
      if (!read[feed->id()]) return UsageError(absl::StrCat("the fetches ", FetchNames(), " do not need the feed '", feed->name(), "'"));
    }
    return absl::OkStatus();
  }

  std::string FetchNames() const {
    return absl::StrJoin(fetches_, ", ", [](std::string* out, const Var* var) { absl::StrAppend(out, var->name()); });
  }

  // Blocks come from the innermost outwards, so the lists of the ops inside are final.
  void KeepNeeded(const Slice& slice, int index) {
    Block& block = program_.block(index);
    std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
    const size_t all = ops.size();
    std::erase_if(ops, [&slice](const std::unique_ptr<Op>& op) { return !slice.Needs(*op); });
    changed_ = changed_ || ops.size() != all;
    block.SetOps(std::move(ops));
    if (index > 0 && CaptureSlot(*slice.owner(index)) >= 0) FilterLists(block, const_cast<Op&>(*slice.owner(index)));
  }

  // The control op lists what its body still reads and writes.
  void FilterLists(const Block& body, Op& control) {
    const int captures = CaptureSlot(control);
    const int results = control.def().OutputSlot("Out");
    read_.resize(program_.num_var_ids(), -1);
    written_.resize(program_.num_var_ids(), -1);
    for (const std::unique_ptr<Op>& op : body.ops()) {
      for (const Var* var : op->inputs()) read_[var->id()] = body.index();
      for (const Var* var : op->outputs()) written_[var->id()] = body.index();
    }
    const auto filtered = [this, &body](absl::Span<Var* const> vars, const std::vector<int>& touched) {
      std::vector<Var*> kept;
      std::copy_if(vars.begin(), vars.end(), std::back_inserter(kept), [&](const Var* var) { return touched[var->id()] == body.index(); });
      changed_ = changed_ || kept.size() != vars.size();
      return kept;
    };
    control.SetInputs(captures, filtered(control.inputs(captures), read_));
    if (results >= 0) control.SetOutputs(results, filtered(control.outputs(results), written_));
  }

  // An op that is needed for another of its results defines a value nobody reads in the place of the feed.
  void TakeOverFeeds(const std::vector<bool>& given) {
    Block& block = program_.main();
    for (const std::unique_ptr<Op>& op : block.ops()) {
      for (int i = 0; i < static_cast<int>(op->outputs().size()); ++i) {
        const Var& var = *op->outputs()[i];
        if (var.kind != VarKind::kTemp || var.id() >= static_cast<int>(given.size()) || !given[var.id()]) continue;
        op->ReplaceOutput(i, block.AddVar(block.UniqueName(absl::StrCat(var.name(), ".unused")), VarKind::kTemp, var.type));
      }
    }
    for (Var* feed : feeds_) {
      changed_ = changed_ || feed->kind != VarKind::kFeed;
      feed->kind = VarKind::kFeed;
    }
  }

  void SetSignature() {
    changed_ = changed_ || program_.feeds != feeds_ || program_.fetches != fetches_;
    program_.feeds = feeds_;
    program_.fetches = fetches_;
  }

  void RemoveVars() {
    std::vector<bool> dead(program_.num_var_ids(), true);
    ForEachOp(program_, [&dead](const Op& op) {
      for (const Var* var : op.inputs()) dead[var->id()] = false;
      for (const Var* var : op.outputs()) dead[var->id()] = false;
    });
    for (const Var* var : program_.feeds) dead[var->id()] = false;
    for (const Var* var : program_.fetches) dead[var->id()] = false;
    bool any = false;
    ForEachVar(program_, [&](const Var& var) { any = any || dead[var.id()]; });
    for (int b = 0; any && b < program_.num_blocks(); ++b) program_.block(b).RemoveVars(dead);
    changed_ = changed_ || any;
  }

  // The file had more than this program.
  void DropOrigin() {
    program_.origin = nullptr;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      for (const std::unique_ptr<Op>& op : program_.block(b).ops()) op->origin = -1;
      for (const std::unique_ptr<Var>& var : program_.block(b).vars()) var->origin = -1;
    }
  }

  const std::vector<std::string>& feed_names_;
  const std::vector<std::string>& fetch_names_;
  Program& program_;
  std::vector<Var*> feeds_, fetches_;
  std::vector<int> read_, written_;  // by Var::id: the last block whose ops did
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> Prune(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches, Program& program) {
  return Pruner(feeds, fetches, program).Run();
}

PassInfo PrunePass() {
  PassInfo info;
  info.name = "prune";
  info.summary = "keeps what computes some values from others";
  info.options = {{"feeds", "names, in the order of the new signature; default: what the fetches need"},
                  {"fetches", "names, in the order of the new signature; default: the program's"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    return MakePass([feeds = ListOption(options, "feeds"), fetches = ListOption(options, "fetches")](
                        PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
      AMPC_ASSIGN_OR_RETURN(const bool changed, Prune(feeds, fetches, program));
      if (changed) ctx.ForgetProducts();
      return changed;
    });
  };
  return info;
}

}  // namespace ampc
