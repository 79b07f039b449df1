// Slice and Pad.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/size.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {
namespace {

using Longs = std::optional<std::vector<int64_t>>;

// The bounds and steps of a slice; bounds that are not known are operands.
struct Bounds {
  Longs starts, ends;
  std::vector<int64_t> axes, steps;
};

std::optional<Bounds> ReadBounds(Lowering& l) {
  Bounds b;
  if (l.since() < 10) {
    b.starts = l.GetInts("starts");
    b.ends = l.GetInts("ends");
    b.axes = l.GetInts("axes");
  } else {
    b.starts = l.Ints(l.In("starts"));
    b.ends = l.Ints(l.In("ends"));
  }
  const TensorType type = l.since() < 10 ? TensorType() : l.In("starts")->type;
  int64_t count = b.starts ? static_cast<int64_t>(b.starts->size()) : b.ends ? static_cast<int64_t>(b.ends->size()) : kUnknownDim;
  if (!IsKnown(count) && type.rank() == 1) count = type.dims[0];
  for (const char* formal : {"axes", "steps"}) {
    if (l.since() < 10 || !l.Has(formal)) continue;
    const Longs given = l.NeedInts(l.In(formal));
    if (!given) return std::nullopt;
    (formal[0] == 'a' ? b.axes : b.steps) = *given;
    count = static_cast<int64_t>(given->size());
  }
  if (!IsKnown(count)) {
    l.NeedsShape("the number of bounds");
    return std::nullopt;
  }
  if (b.axes.empty()) {
    b.axes.resize(count);
    std::iota(b.axes.begin(), b.axes.end(), int64_t{0});
  }
  if (b.steps.empty()) b.steps.assign(b.axes.size(), 1);
  if (b.steps.size() != b.axes.size() || (b.starts && b.starts->size() != b.axes.size()) || (b.ends && b.ends->size() != b.axes.size())) {
    Wrong(l, "starts, ends, axes and steps differ in length");
    return std::nullopt;
  }
  return b;
}

// Backwards: to a start inside the dim and an end that is -1 where it lies before the first element, which is what the native op reads.
// A whole dim whose size is not known is flipped instead; absent where that is not what is asked for.
std::optional<Var*> TakeBackwards(Lowering& l, Var* x, Bounds& b) {
  Ints flipped;
  for (size_t i = 0; i < b.axes.size(); ++i) {
    if (b.steps[i] >= 0) continue;
    const int rank = l.Rank(x);
    if (!l.ok()) return std::nullopt;
    const int axis = Axis(l, b.axes[i], rank);
    const int64_t size = x->type.dims[axis];
    int64_t &start = (*b.starts)[i], &end = (*b.ends)[i];
    if (IsKnown(size)) {
      start = std::clamp<int64_t>(start < 0 ? start + size : start, 0, std::max<int64_t>(size - 1, 0));
      end = std::clamp<int64_t>(end < 0 ? end + size : end, -1, std::max<int64_t>(size - 1, 0));
      if (size == 0) start = end = 0;
    } else if (b.steps[i] == -1 && (start == -1 || start >= kToTheEnd) && end <= -kToTheEnd) {
      flipped.push_back(axis);
      start = 0;
      end = kToTheEnd;
      b.steps[i] = 1;
    } else {
      l.NeedsShape("the size of an axis that is sliced backwards");
      return std::nullopt;
    }
  }
  return flipped.empty() ? x : l.Op("flip", {{"X", x}}, {{"axis", flipped}});
}

void LowerSlice(Lowering& l) {
  Var* x = l.In("data");
  std::optional<Bounds> b = ReadBounds(l);
  if (!b) return;
  if (b->axes.empty()) return l.Result("output", l.Op("assign", {{"X", x}}));
  if (std::any_of(b->steps.begin(), b->steps.end(), [](int64_t s) { return s < 0; })) {
    if (!b->starts) b->starts = l.NeedInts(l.In("starts"));
    if (!b->ends) b->ends = l.NeedInts(l.In("ends"));
    if (!l.ok()) return;
    const std::optional<Var*> forward = TakeBackwards(l, x, *b);
    if (!forward) return;
    x = *forward;
  }
  std::vector<Lowering::Operand> operands = {{"Input", x}};
  Lowering::Attrs attrs = {{"axes", WholeNumbers(b->axes)}};
  b->starts ? attrs.push_back({"starts", WholeNumbers(*b->starts)}) : operands.push_back({"StartsTensor", l.In("starts")});
  b->ends ? attrs.push_back({"ends", WholeNumbers(*b->ends)}) : operands.push_back({"EndsTensor", l.In("ends")});
  const bool strided = std::any_of(b->steps.begin(), b->steps.end(), [](int64_t s) { return s != 1; });
  if (strided) attrs.push_back({"strides", WholeNumbers(b->steps)});
  l.Result("output", l.Op(strided ? "strided_slice" : "slice", operands, attrs));
}

// Elements to add per dim; less than 0: to cut.
struct Pads {
  std::vector<int64_t> before, after;
  bool none() const {
    const auto zero = [](int64_t p) { return p == 0; };
    return std::all_of(before.begin(), before.end(), zero) && std::all_of(after.begin(), after.end(), zero);
  }
};

std::optional<Pads> ReadPads(Lowering& l, const Var* x) {
  const Longs given = l.since() < 2    ? std::optional(l.GetInts("paddings"))
                      : l.since() < 11 ? std::optional(l.GetInts("pads"))
                                       : l.NeedInts(l.In("pads"));
  if (!given) return std::nullopt;
  const size_t n = given->size() / 2;
  std::vector<int64_t> axes(n);
  std::iota(axes.begin(), axes.end(), int64_t{0});
  size_t rank = n;
  if (l.since() >= 18 && l.Has("axes")) {
    const Longs named = l.NeedInts(l.In("axes"));
    if (!named || l.Rank(x) < 0) return std::nullopt;
    axes = *named;
    rank = x->type.rank();
  }
  if (axes.size() != n || given->size() % 2 != 0 || (x->type.has_rank && rank != static_cast<size_t>(x->type.rank()))) {
    Wrong(l, absl::StrCat("pads has ", given->size(), " numbers, needs two per dim or axis"));
    return std::nullopt;
  }
  Pads p{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < n; ++i) {
    const int axis = Axis(l, axes[i], static_cast<int>(rank));
    if (!l.ok()) return std::nullopt;
    p.before[axis] = (*given)[i];
    p.after[axis] = (*given)[n + i];
  }
  return p;
}

// Cuts what is negative.
Var* Cut(Lowering& l, Var* x, Pads& p) {
  std::vector<int64_t> axes, starts, ends;
  for (size_t i = 0; i < p.before.size(); ++i) {
    if (p.before[i] >= 0 && p.after[i] >= 0) continue;
    axes.push_back(static_cast<int64_t>(i));
    starts.push_back(std::max<int64_t>(SatSub(0, p.before[i]), 0));
    ends.push_back(p.after[i] < 0 ? p.after[i] : kToTheEnd);
    p.before[i] = std::max<int64_t>(p.before[i], 0);
    p.after[i] = std::max<int64_t>(p.after[i], 0);
  }
  return axes.empty() ? x
                      : l.Op("slice", {{"Input", x}},
                             {{"axes", WholeNumbers(axes)}, {"starts", WholeNumbers(starts)}, {"ends", WholeNumbers(ends)}});
}

Var* PadConstant(Lowering& l, Var* x, const Pads& p, double value) {
  std::vector<int64_t> paddings;
  for (size_t i = 0; i < p.before.size(); ++i) {
    paddings.push_back(p.before[i]);
    paddings.push_back(p.after[i]);
  }
  return l.Op("pad", {{"X", x}}, {{"paddings", WholeNumbers(paddings)}, {"pad_value", static_cast<float>(value)}});
}

void LowerConstantPad(Lowering& l, Var* x, const Pads& p) {
  const bool by_operand = l.since() >= 11 && l.Has("constant_value");
  const std::optional<double> value = by_operand ? l.Float(l.In("constant_value")) : l.since() < 11 ? l.GetFloat("value") : 0.0;
  if (value && (std::isnan(*value) || static_cast<float>(*value) == *value)) return l.Result("output", PadConstant(l, x, p, *value));
  // The operand's value where a padded mask says so.
  Var* inside = l.Op("fill_any_like", {{"X", x}}, {{"value", 1.0f}, {"dtype", DType::kI32}});
  Var* outside = l.Op("equal", {{"X", PadConstant(l, inside, p, 0)}, {"Y", l.ConstScalar(0, DType::kI32)}});
  Var* padded = PadConstant(l, x, p, 0);
  Var* filled = l.Op("expand_as_v2", {{"X", l.Reshape(l.In("constant_value"), std::vector<int64_t>(p.before.size(), 1))}, {"Y", padded}});
  l.Result("output", l.Op("where", {{"Condition", outside}, {"X", filled}, {"Y", padded}}));
}

// The source of position `i` of a padded dim of `n`.
int64_t SourceOf(absl::string_view mode, int64_t i, int64_t n) {
  if (mode == "edge" || n == 1) return std::clamp<int64_t>(i, 0, n - 1);
  if (mode == "wrap") return ((i % n) + n) % n;
  const int64_t period = 2 * (n - 1), at = ((i % period) + period) % period;
  return std::min(at, period - at);
}

// One dim after the other, each by its positions.
Var* PadByPositions(Lowering& l, Var* x, const Pads& p, absl::string_view mode) {
  for (size_t d = 0; d < p.before.size() && l.ok(); ++d) {
    if (p.before[d] == 0 && p.after[d] == 0) continue;
    const int64_t n = static_cast<int>(d) < x->type.rank() ? x->type.dims[d] : kUnknownDim;
    if (!IsKnown(n)) {
      l.NeedsShape("the size of a padded dim");
      break;
    }
    if (n == 0) {
      Wrong(l, absl::StrCat("mode ", mode, " needs elements in dim ", d));
      break;
    }
    const int64_t before = p.before[d];
    x = TakeConst(
        l, x, SatAdd(SatAdd(n, before), p.after[d]), [&](int64_t i) { return SourceOf(mode, i - before, n); }, static_cast<int>(d));
  }
  return x;
}

void LowerPad(Lowering& l) {
  Var* x = l.In("data");
  std::optional<Pads> p = ReadPads(l, x);
  if (!p || !l.ok()) return;
  x = Cut(l, x, *p);
  if (p->none()) return l.Result("output", l.Op("assign", {{"X", x}}));
  const std::string mode = l.GetString("mode");
  if (mode == "constant") return LowerConstantPad(l, x, *p);
  if (mode != "reflect" && mode != "edge" && mode != "wrap") return Wrong(l, absl::StrCat("mode is '", mode, "'"));
  // The native op pads the last two of four dims, whose sizes it need not know before the run; a reflection with bounces it does not do.
  const int rank = static_cast<int>(p->before.size()), lead = 4 - rank, spatial = std::max(rank - 2, 0);
  const auto padded = [&p](int i) { return p->before[i] != 0 || p->after[i] != 0; };
  bool native = lead >= 0 && mode != "wrap";
  for (int i = 0; i < rank; ++i) {
    const int64_t n = x->type.has_rank ? x->type.dims[i] : kUnknownDim;
    native = native && !(i < spatial && padded(i)) && !(mode == "reflect" && IsKnown(n) && std::max(p->before[i], p->after[i]) >= n);
  }
  if (!native) return l.Result("output", PadByPositions(l, x, *p, mode));
  std::vector<int64_t> front(lead), paddings;
  std::iota(front.begin(), front.end(), int64_t{0});
  for (int i = rank - 2; i < rank; ++i) {
    paddings.push_back(i < 0 ? 0 : p->before[i]);
    paddings.push_back(i < 0 ? 0 : p->after[i]);
  }
  Var* image = front.empty() ? x : l.Unsqueeze(x, front);
  image = l.Op("pad2d", {{"X", image}}, {{"paddings", WholeNumbers(paddings)}, {"mode", mode}});
  l.Result("output", front.empty() ? image : l.Squeeze(image, front));
}

}  // namespace

void AddSlice(OnnxOps& ops) {
  ops.Add("Slice").Like("slice").Lower(&LowerSlice);
  ops.Add("Pad").Like("pad").Use("value", AttrUse::kFills).Lower(&LowerPad);
}

}  // namespace ampc::onnx
