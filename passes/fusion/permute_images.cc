#include "passes/fusion/permute_images.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/op_registry.h"
#include "passes/fusion/rewrite.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

using Axes = std::vector<int64_t>;

class ImagePermuter {
 public:
  explicit ImagePermuter(Program& program)
      : program_(program), rewrite_(program), reshape_(Ops().Find("reshape2")), transpose_(Ops().Find("transpose2")) {}

  bool Run() {
    if (reshape_ == nullptr || transpose_ == nullptr) return false;
    const bool changed = rewrite_.Run([this](const Op& op) { return OutOfImage(op) || IntoImage(op); });
    if (changed) RemoveUnusedVars(program_);
    return changed;
  }

 private:
  // The permutation of three dimensions that `op` is and that moves the last one; empty for anything else.
  Axes Permutation(const Op& op) const {
    if ((op.type() != "transpose2" && op.type() != "transpose") || !GivesOneResult(op)) return {};
    Axes axes = op.GetInts("axis");
    for (int64_t& axis : axes) axis += axis < 0 ? static_cast<int64_t>(axes.size()) : 0;
    return axes.size() == 3 && axes[2] != 2 ? axes : Axes();
  }

  bool Reshapes(const Op& op) const {
    const std::string& t = op.type();
    const bool moves = t == "reshape2" || t == "reshape" || t == "flatten_contiguous_range" || t == "flatten2" || t == "flatten" ||
                       t == "squeeze2" || t == "unsqueeze2";
    return moves && GivesOneResult(op) && op.inputs()[0]->type.has_rank && op.outputs()[0]->type.has_rank;
  }

  // What Paddle's ops say of the shape of X is read by nothing.
  bool GivesOneResult(const Op& op) const {
    return std::all_of(op.outputs().begin() + 1, op.outputs().end(),
                       [this](const Var* var) { return uses_.uses(*var).empty() && !uses_.fetched(*var); });
  }

  // The op that makes the temp `var`, which is read in the op's own block.
  const Op* ProducerOf(const Var& var, const Op& reader) const {
    const Op* op = var.kind == VarKind::kTemp ? uses_.producer(var) : nullptr;
    return op != nullptr && &op->block() == &reader.block() && !rewrite_.IsGone(*op) && Stable(*op->inputs()[0]) ? op : nullptr;
  }
  bool Stable(const Var& var) const { return var.kind == VarKind::kTemp || uses_.num_writers(var) == 0; }

  // The first two dimensions of `image` and `flat` are the same, and those of the image behind them are the last one of `flat`.
  static bool AreImages(const TensorType& image, const TensorType& flat) {
    if (flat.rank() != 3 || (image.rank() != 4 && image.rank() != 5)) return false;
    const auto same = [](int64_t a, int64_t b) { return a == b && a != kUnknownDim && a != 0; };
    if (!IsKnown(image.dims[1]) || !same(image.dims[1], flat.dims[1])) return false;
    int64_t positions = 1;
    for (const int64_t d : absl::MakeConstSpan(image.dims).subspan(2))
      positions = IsKnown(d) && positions > 0 ? positions * d : kUnknownDim;
    return same(image.dims[0], flat.dims[0]) || (positions > 0 && positions == flat.dims[2]);  // then so many are left for the first
  }

  // The shape that reshape2 is told to make `to` of `from`; nullopt where two sizes are not known.
  static std::optional<Axes> ShapeOf(const Dims& from, const Dims& to) {
    Axes shape;
    int open = 0;
    for (size_t i = 0; i < to.size(); ++i) {
      const bool copies = !IsKnown(to[i]) && to[i] != kUnknownDim && i < from.size() && from[i] == to[i];
      shape.push_back(IsKnown(to[i]) ? to[i] : copies ? 0 : -1);
      open += shape.back() == -1;
    }
    return open <= 1 ? std::optional(shape) : std::nullopt;
  }

  // A permutation behind the reshape that makes positions one dimension.
  bool OutOfImage(const Op& op) {
    const Axes axes = Permutation(op);
    const Op* flatten = axes.empty() ? nullptr : ProducerOf(*op.inputs()[0], op);
    if (flatten == nullptr || !Reshapes(*flatten) || !AreImages(flatten->inputs()[0]->type, flatten->outputs()[0]->type)) return false;
    Var* x = flatten->inputs()[0];
    Axes all;
    Dims dims;
    for (const int64_t axis : axes) {
      const int last = axis == 2 ? x->type.rank() - 1 : static_cast<int>(axis);
      for (int d = static_cast<int>(axis); d <= last; ++d) {
        all.push_back(d);
        dims.push_back(x->type.dims[d]);
      }
    }
    const std::optional<Axes> shape = ShapeOf(dims, op.outputs()[0]->type.dims);
    return shape.has_value() && Replace(op, x, std::move(dims), {transpose_, "axis", std::move(all)}, {reshape_, "shape", *shape});
  }

  // A reshape that makes one dimension of a permuted value positions again.
  bool IntoImage(const Op& op) {
    const Op* permute = Reshapes(op) ? ProducerOf(*op.inputs()[0], op) : nullptr;
    const Axes axes = permute == nullptr ? Axes() : Permutation(*permute);
    if (axes.empty() || !AreImages(op.outputs()[0]->type, op.inputs()[0]->type)) return false;
    Var* x = permute->inputs()[0];
    const Dims& out = op.outputs()[0]->type.dims;
    if (x->type.rank() != 3) return false;
    const int64_t more = static_cast<int64_t>(out.size()) - 3;
    Dims dims = x->type.dims;
    dims.erase(dims.begin() + axes[2]);
    dims.insert(dims.begin() + axes[2], out.begin() + 2, out.end());
    Axes all = {axes[0] + (axes[0] > axes[2] ? more : 0), axes[1] + (axes[1] > axes[2] ? more : 0)};
    for (int64_t d = 0; d <= more; ++d) all.push_back(axes[2] + d);
    const std::optional<Axes> shape = ShapeOf(x->type.dims, dims);
    return shape.has_value() && Replace(op, x, std::move(dims), {reshape_, "shape", *shape}, {transpose_, "axis", std::move(all)});
  }

  struct Move {
    const OpDef* def;
    const char* attr;
    Axes value;
  };

  // `first` makes a value of `dims` of x, and `second` of that what `op` made.
  bool Replace(const Op& op, Var* x, Dims dims, Move first, Move second) {
    Var* between = Rewrite::NewTemp(op.block(), absl::StrCat(op.outputs()[0]->name(), ".image"), x->type.dtype, std::move(dims));
    rewrite_.InsertBefore(op, Make(op, x, std::move(first), between));
    rewrite_.Replace(op, Make(op, between, std::move(second), op.outputs()[0]));
    return true;
  }

  static std::unique_ptr<Op> Make(const Op& like, Var* x, Move move, Var* y) {
    std::unique_ptr<Op> op = Rewrite::NewOp(move.def, like);
    op->SetInputs(move.def->InputSlot("X"), {&x, 1});
    op->SetOutputs(move.def->OutputSlot("Out"), {&y, 1});
    op->SetAttr(move.attr, std::vector<int32_t>(move.value.begin(), move.value.end()));
    return op;
  }

  Program& program_;
  Rewrite rewrite_;
  const UseDef& uses_ = rewrite_.uses();
  const OpDef* reshape_;
  const OpDef* transpose_;
};

}  // namespace

PassInfo PermuteImagesPass() {
  return SimplePass("permute-images", "makes permutations of flattened images permutations of images",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return ImagePermuter(program).Run(); });
}

}  // namespace ampc
