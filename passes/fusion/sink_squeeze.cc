#include "passes/fusion/sink_squeeze.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/op_registry.h"
#include "graph/ops/fused_steps.h"
#include "passes/analysis/use_def.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

constexpr int kImageRank = 4;

// A value is `image` without dimension `axis`, which has size 1.
struct Squeezed {
  Var* image = nullptr;  // null: it is not
  int axis = 0;
};

class SqueezeSinker {
 public:
  explicit SqueezeSinker(Program& program)
      : program_(program),
        squeezed_(program.num_var_ids()),
        image_(program.num_var_ids(), nullptr),
        squeeze_(Ops().Find("squeeze2")),
        unsqueeze_(Ops().Find("unsqueeze2")) {}

  bool Run() {
    if (squeeze_ == nullptr || unsqueeze_ == nullptr) return false;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      std::vector<std::unique_ptr<Op>> ops = program_.block(b).TakeOps();
      kept_.reserve(ops.size());
      for (std::unique_ptr<Op>& op : ops) Visit(std::move(op));
      program_.block(b).SetOps(std::exchange(kept_, {}));
    }
    return changed_;
  }

 private:
  void Visit(std::unique_ptr<Op> op) {
    for (int i = 0; i < static_cast<int>(op->inputs().size()); ++i) {
      Var* const image = At(image_, *op->inputs()[i]);
      if (image == nullptr) continue;
      op->ReplaceInput(i, image);
      changed_ = true;
    }
    Note(*op);
    const Squeezed s = Widen(*op);
    if (s.image == nullptr) return kept_.push_back(std::move(op));
    Var* const line = op->outputs()[0];
    const int axis = s.axis;
    Dims dims = line->type.dims;
    dims.insert(dims.begin() + axis, 1);
    Var* const wide = Row(op->block(), *line, std::move(dims));
    op->ReplaceOutput(0, wide);
    std::unique_ptr<Op> squeeze = Make(squeeze_, *op, wide, axis, line);
    squeezed_[line->id()] = {wide, axis};
    kept_.push_back(std::move(op));
    kept_.push_back(std::move(squeeze));
    changed_ = true;
  }

  // The dimension that squeeze2 or unsqueeze2 alone takes away or puts in, of an image.
  static std::optional<int> OnlyAxis(const Op& op, const TensorType& image, const TensorType& line) {
    const std::vector<int64_t> axes = op.GetInts("axes");
    if (axes.size() != 1 || op.inputs().size() != 1 || image.rank() != kImageRank || line.rank() != kImageRank - 1) return std::nullopt;
    const int axis = static_cast<int>(axes[0] < 0 ? axes[0] + kImageRank : axes[0]);
    return image.dims[axis] == 1 ? std::optional(axis) : std::nullopt;
  }

  // Remembers what the op says of its result.
  void Note(const Op& op) {
    const bool takes = &op.def() == squeeze_;
    if ((!takes && &op.def() != unsqueeze_) || op.inputs().empty()) return;
    Var *const x = op.inputs()[0], *const y = op.outputs()[0];
    const std::optional<int> axis = OnlyAxis(op, takes ? x->type : y->type, takes ? y->type : x->type);
    if (!axis.has_value() || x->kind != VarKind::kTemp || y->kind != VarKind::kTemp || &x->block() != &op.block()) return;
    if (takes) {
      squeezed_[y->id()] = {x, *axis};
    } else if (const Squeezed s = At(squeezed_, *x); s.image != nullptr && s.axis == *axis) {
      image_[y->id()] = s.image;
    }
  }

  template <typename T>
  static T At(const std::vector<T>& of, const Var& var) {
    return var.id() < static_cast<int>(of.size()) ? of[var.id()] : T();
  }

  // Lets the op read images where it may; what its first result is squeezed from then, but for the image.
  Squeezed Widen(Op& op) {
    if (op.outputs().empty() || op.outputs()[0]->kind != VarKind::kTemp || op.outputs()[0]->type.rank() != kImageRank - 1) return {};
    if (KeepsChannels(op)) return WidenOperand(op, op.def().InputSlot("X"));
    Squeezed s;
    for (const Var* var : op.inputs()) {
      s = SqueezedIn(op, *var);
      if (s.image != nullptr) return ops::MayBeFusedStep(op) ? WidenStep(op, s) : WidenMove(op, s);
    }
    return {};
  }

  // Nothing where its image is not of the block of `op`.
  Squeezed SqueezedIn(const Op& op, const Var& var) const {
    const Squeezed s = At(squeezed_, var);
    return s.image != nullptr && &s.image->block() == &op.block() ? s : Squeezed();
  }

  // The op treats the first two dimensions as images and channels, and whatever is behind them alike.
  static bool KeepsChannels(const Op& op) {
    if (op.type() == "prelu") return op.GetString("mode") != "element" && op.GetString("data_format") != "NHWC";
    return op.type() == "batch_norm" && op.GetString("data_layout") != "NHWC";
  }

  Squeezed WidenOperand(Op& op, int slot) const {
    const Squeezed s = SqueezedIn(op, *op.input(slot));
    if (s.image == nullptr || s.axis < 2) return {};
    op.SetInputs(slot, {&s.image, 1});
    return s;
  }

  // An element-wise op, whose other operands get a dimension of 1 where the images have theirs.
  Squeezed WidenStep(Op& op, const Squeezed& s) {
    const int64_t rank = kImageRank - 1, axis = op.GetInt("axis", -1);
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      Var* var = op.inputs()[i];
      const int64_t start = ops::StepAxis(op, i, rank), end = start + var->type.rank();
      if (const Squeezed own = SqueezedIn(op, *var); own.image != nullptr && own.axis == s.axis) {
        var = own.image;
      } else if (s.axis > start && (s.axis < end || end == rank) && !IsNumber(*var)) {
        var = Unsqueezed(op, var, static_cast<int>(s.axis - start));
      }
      op.ReplaceInput(i, var);
    }
    if (axis >= s.axis) op.SetAttr("axis", static_cast<int32_t>(axis + 1));
    return s;
  }

  static bool IsNumber(const Var& var) { return var.type.IsStatic() && var.type.NumElements() == 1; }

  // concat of what is squeezed alike, and a slice.
  Squeezed WidenMove(Op& op, const Squeezed& s) const {
    const bool joins = op.type() == "concat", cuts = op.type() == "slice";
    const size_t operands = cuts ? 1 : op.inputs(op.def().InputSlot("X")).size();
    if ((!joins && !cuts) || op.inputs().size() != operands || !op.GetInts("decrease_axis").empty()) return {};
    const auto alike = [&](const Var* var) {
      const Squeezed own = SqueezedIn(op, *var);
      return own.image != nullptr && own.axis == s.axis;
    };
    if (!std::all_of(op.inputs().begin(), op.inputs().end(), alike)) return {};
    const auto moved = [&s](int64_t a) {
      a += a < 0 ? kImageRank - 1 : 0;
      return static_cast<int32_t>(a >= s.axis ? a + 1 : a);
    };
    if (joins) {
      op.SetAttr("axis", moved(op.GetInt("axis")));
    } else {
      std::vector<int32_t> axes;
      for (const int64_t a : op.GetInts("axes")) axes.push_back(moved(a));
      op.SetAttr("axes", std::move(axes));
    }
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) op.ReplaceInput(i, SqueezedIn(op, *op.inputs()[i]).image);
    return s;
  }

  static Var* Row(Block& block, const Var& like, Dims dims) {
    return Rewrite::NewTemp(block, absl::StrCat(like.name(), ".row"), like.type.dtype, std::move(dims));
  }

  // `var` with a dimension of 1, in front of `reader`.
  Var* Unsqueezed(const Op& reader, Var* var, int axis) {
    Dims dims = var->type.dims;
    dims.insert(dims.begin() + axis, 1);
    Var* const wide = Row(reader.block(), *var, std::move(dims));
    kept_.push_back(Make(unsqueeze_, reader, var, axis, wide));
    return wide;
  }

  static std::unique_ptr<Op> Make(const OpDef* def, const Op& like, Var* x, int axis, Var* y) {
    std::unique_ptr<Op> op = Rewrite::NewOp(def, like);
    op->SetInputs(def->InputSlot("X"), {&x, 1});
    op->SetOutputs(def->OutputSlot("Out"), {&y, 1});
    op->SetAttr("axes", std::vector<int32_t>{axis});
    return op;
  }

  Program& program_;
  std::vector<Squeezed> squeezed_;  // by Var::id
  std::vector<Var*> image_;         // by Var::id: the image that unsqueeze2 makes of a squeezed one again
  const OpDef* squeeze_;
  const OpDef* unsqueeze_;
  std::vector<std::unique_ptr<Op>> kept_;  // of the block at hand
  bool changed_ = false;
};

}  // namespace

PassInfo SinkSqueezePass() {
  return SimplePass("sink-squeeze", "lets what follows convolutions of one dimension read images",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return SqueezeSinker(program).Run(); });
}

}  // namespace ampc
