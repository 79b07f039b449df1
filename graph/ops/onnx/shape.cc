// Operators that give data another shape, or make and cut shapes. Shapes are i64, as the standard has them.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/size.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {
namespace {

// With allowzero a 0 is a size: such a shape has no elements to keep.
void LowerReshape(Lowering& l) {
  Var* x = l.In("data");
  const bool by_attr = l.since() < 5;
  const bool zeros = l.since() >= 14 && l.GetInt("allowzero") != 0;
  const std::optional<std::vector<int64_t>> shape = by_attr ? l.GetInts("shape")
                                                    : zeros ? l.NeedInts(l.In("shape"))
                                                            : l.Ints(l.In("shape"));
  if (!l.ok()) return;
  if (!shape) return l.Result("reshaped", l.Op("reshape2", {{"X", x}, {"Shape", l.In("shape")}}));
  if (!zeros || std::find(shape->begin(), shape->end(), 0) == shape->end()) return l.Result("reshaped", l.Reshape(x, *shape));
  if (std::find(shape->begin(), shape->end(), -1) != shape->end()) return Wrong(l, "shape has 0 and -1, of which allowzero permits one");
  l.Result("reshaped", l.Op("fill_constant", {}, {{"dtype", x->type.dtype}, {"shape", *shape}}));
}

void LowerFlatten(Lowering& l) {
  Var* x = l.In("input");
  int64_t axis = l.GetInt("axis");
  if (axis < 0) axis += l.Rank(x);
  l.Result("output", l.Op("flatten2", {{"X", x}}, {{"axis", WholeNumber(axis)}}));
}

// From the attribute of old versions or the operand; absent where there are none, and where they are not known yet.
std::optional<std::vector<int64_t>> GivenAxes(Lowering& l) {
  if (l.since() < 13) return l.HasAttr("axes") ? std::optional(l.GetInts("axes")) : std::nullopt;
  return l.Has("axes") ? l.NeedInts(l.In("axes")) : std::nullopt;
}

void LowerSqueeze(Lowering& l) {
  Var* x = l.In("data");
  std::optional<std::vector<int64_t>> axes = GivenAxes(l);
  if (!l.ok()) return;
  if (!axes) {
    const std::optional<std::vector<int64_t>> dims = l.Shape(x);
    if (!dims) return;
    axes.emplace();
    for (size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] == 1) axes->push_back(static_cast<int64_t>(i));
    }
    if (axes->empty()) return l.Result("squeezed", l.Op("assign", {{"X", x}}));
  }
  for (int64_t axis : *axes) {
    const int64_t at = axis < 0 ? axis + x->type.rank() : axis;
    if (x->type.has_rank && at >= 0 && at < x->type.rank() && IsKnown(x->type.dims[at]) && x->type.dims[at] != 1) {
      return Wrong(l, absl::StrCat("dim ", at, " is ", x->type.dims[at], ", needs 1 to be squeezed"));
    }
  }
  l.Result("squeezed", axes->empty() ? l.Op("assign", {{"X", x}}) : l.Squeeze(x, *axes));
}

// The axes are those of the result; one after the other, from the first on, they are where the native op puts them.
void LowerUnsqueeze(Lowering& l) {
  Var* x = l.In("data");
  std::optional<std::vector<int64_t>> axes = GivenAxes(l);
  if (!axes) return;
  for (int64_t& axis : *axes) {
    if (axis < 0 && l.Rank(x) < 0) return;
    if (axis < 0) axis = Axis(l, axis, l.Rank(x) + static_cast<int>(axes->size()));
  }
  std::sort(axes->begin(), axes->end());
  if (std::adjacent_find(axes->begin(), axes->end()) != axes->end()) return Wrong(l, "axes names a dim twice");
  l.Result("expanded", l.Unsqueeze(x, *axes));
}

void LowerTranspose(Lowering& l) {
  Var* x = l.In("data");
  std::vector<int> perm;
  for (int64_t axis : l.GetInts("perm")) {
    if (axis < 0 || axis > std::numeric_limits<int>::max()) return Wrong(l, absl::StrCat("perm has ", axis, ", needs the dims' numbers"));
    perm.push_back(static_cast<int>(axis));
  }
  if (!l.HasAttr("perm")) {
    perm.resize(std::max(0, l.Rank(x)));
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  l.Result("transposed", perm.empty() ? l.Op("assign", {{"X", x}}) : l.Transpose(x, perm));
}

void LowerShape(Lowering& l) {
  Var* x = l.In("data");
  const int64_t start = l.since() >= 15 ? l.GetInt("start") : 0;
  const int64_t end = l.since() >= 15 && l.HasAttr("end") ? l.GetInt("end") : kToTheEnd;
  if (x->type.has_rank) {
    const int rank = x->type.rank();
    const auto at = [rank](int64_t i) { return static_cast<int>(std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank)); };
    return l.Result("shape", DimsOf(l, x, at(start), std::max(at(start), at(end))));
  }
  Var* shape = l.Cast(l.Op("shape", {{"Input", x}}), DType::kI64);
  if (start != 0 || end != kToTheEnd) {
    shape = l.Op("slice", {{"Input", shape}}, {{"axes", Ints{0}}, {"starts", WholeNumbers({start})}, {"ends", WholeNumbers({end})}});
  }
  l.Result("shape", shape);
}

void LowerSize(Lowering& l) { l.Result("size", l.Op("size", {{"Input", l.In("data")}})); }

// Both sides broadcast: a 1 of the shape keeps the dim of the operand, and a short shape is filled up with ones.
void LowerExpand(Lowering& l) {
  Var *x = l.In("input"), *shape = l.In("shape");
  if (std::optional<std::vector<int64_t>> want = l.Ints(shape)) {
    const int rank = l.Rank(x), lead = static_cast<int>(want->size()) - rank;
    if (!l.ok()) return;
    if (lead < 0) want->insert(want->begin(), -lead, 1);
    for (size_t i = std::max(lead, 0); i < want->size(); ++i) {
      if ((*want)[i] == 1) (*want)[i] = -1;
    }
    return l.Result("output", l.Op("expand_v2", {{"X", x}}, {{"shape", WholeNumbers(*want)}}));
  }
  const int rank = l.Rank(x), count = shape->type.rank() == 1 ? static_cast<int>(shape->type.dims[0]) : -1;
  if (!l.ok()) return;
  if (std::all_of(x->type.dims.begin(), x->type.dims.end(), [](int64_t d) { return d == 1; }) && count >= rank) {
    return l.Result("output", l.Op("expand_v2", {{"X", x}, {"Shape", shape}}));
  }
  if (count < 0) return l.NeedsShape("the length of shape");
  // Each dim is that of the shape, or of the operand where the shape has 1; times 0 is 0 on either side.
  const int longest = std::max(rank, count);
  const auto fill_up = [&l, longest](Var* dims, int n) {
    return n == longest ? dims : Join(l, {l.Const(std::vector<int64_t>(longest - n, 1)), dims});
  };
  Var *want = fill_up(shape, count), *have = fill_up(DimsOf(l, x, 0, rank), rank);
  Var* keeps = l.Op("equal", {{"X", want}, {"Y", l.Const(std::vector<int64_t>(longest, 1))}});
  l.Result("output", l.Op("expand_v2", {{"X", x}, {"Shape", l.Op("where", {{"Condition", keeps}, {"X", have}, {"Y", want}})}}));
}

// One number along one axis.
void LowerFirstTile(Lowering& l) {
  Var* x = l.In("input");
  const auto times = NeedWhole(l, l.In("tiles")), axis = NeedWhole(l, l.In("axis"));
  const int rank = l.Rank(x);
  if (!times || !axis || rank < 0) return;
  if (times->size() != 1 || axis->size() != 1) return Wrong(l, "tiles and axis need one number each");
  const int at = Axis(l, axis->front(), rank);
  if (!l.ok()) return;
  std::vector<int64_t> repeats(rank, 1);
  repeats[at] = times->front();
  l.Result("output", l.Op("tile", {{"X", x}}, {{"repeat_times", WholeNumbers(repeats)}}));
}

// Of its first versions one type variable holds for the counts, too, which stay as they are.
AmpClass TileClass(const Op& op) { return DefOf(op.def())->schema->since < 6 ? AmpClass::kNever : AmpClass::kClear; }

void LowerTile(Lowering& l) {
  if (l.since() < 6) return LowerFirstTile(l);
  Var* x = l.In("input");
  const std::optional<std::vector<int64_t>> given = l.Ints(l.In("repeats"));
  if (!given) return l.Result("output", l.Op("tile", {{"X", x}, {"RepeatTimes", l.In("repeats")}}));
  if (given->empty()) return l.Result("output", l.Op("assign", {{"X", x}}));
  l.Result("output", l.Op("tile", {{"X", x}}, {{"repeat_times", WholeNumbers(*given)}}));
}

// A sequence keeps its type.
AmpClass IdentityClass(const Op& op) { return op.inputs()[0]->type.kind == TypeKind::kTensorArray ? AmpClass::kNever : AmpClass::kClear; }

void LowerIdentity(Lowering& l) { l.Result("output", l.Op("assign", {{"X", l.In("input")}})); }

void LowerConcat(Lowering& l) {
  std::vector<Var*> parts;
  for (int i = 0; i < l.Count("inputs"); ++i) parts.push_back(l.In("inputs", i));
  const int64_t axis = l.HasAttr("axis") ? l.GetInt("axis") : 1;
  l.Result("concat_result", l.Op("concat", {{"X", parts}}, {{"axis", WholeNumber(axis)}}));
}

// The sizes of the parts, or none for equal ones. From version 18 on the last of num_outputs may be smaller.
std::optional<std::vector<int64_t>> SplitSizes(Lowering& l, const Var* x, int axis, int count) {
  if (l.Has("split")) return NeedWhole(l, l.In("split"));
  if (l.since() < 13) return l.GetInts("split");
  if (l.since() < 18 || count == 1) return std::vector<int64_t>();
  if (l.Rank(x) < 0) return std::nullopt;
  const int64_t size = x->type.dims[axis];
  if (!IsKnown(size)) {
    l.NeedsShape("the size of the axis");
    return std::nullopt;
  }
  const int64_t part = (size + count - 1) / count;
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < count; ++i) sizes.push_back(std::clamp<int64_t>(size - i * part, 0, part));
  return sizes;
}

void LowerSplit(Lowering& l) {
  Var* x = l.In("input");
  const absl::string_view formal = l.since() < 2 ? "outputs..." : "outputs";
  const int count = static_cast<int>(l.op().outputs().size());
  const int axis = AxisAttr(l, "axis", x);
  if (l.since() >= 18 && l.HasAttr("num_outputs") && l.GetInt("num_outputs") != count) {
    return Wrong(l, absl::StrCat("num_outputs is ", l.GetInt("num_outputs"), ", needs ", count, ", the number of results"));
  }
  const auto sizes = SplitSizes(l, x, axis, count);
  if (!l.ok()) return;
  Lowering::Attrs attrs = {{"axis", int32_t{axis}}};
  sizes->empty() ? attrs.push_back({"num", int32_t{count}}) : attrs.push_back({"sections", WholeNumbers(*sizes)});
  const std::vector<Var*> parts = l.OpList("split", {{"X", x}}, attrs, "Out", count);
  for (int i = 0; l.ok() && i < count; ++i) l.Result(formal, parts[i], i);
}

// The dims after the first, which may stay unknown.
std::optional<std::vector<int64_t>> ImageDims(Lowering& l, const Var* x) {
  if (l.Rank(x) != 4) {
    if (l.ok()) Wrong(l, "the operand needs rank 4");
    return std::nullopt;
  }
  if (!std::all_of(x->type.dims.begin() + 1, x->type.dims.end(), IsKnown)) return std::nullopt;
  return std::vector<int64_t>(x->type.dims.begin() + 1, x->type.dims.end());
}

void LowerDepthToSpace(Lowering& l) {
  Var* x = l.In("input");
  const int64_t b = l.GetInt("blocksize");
  const bool rows_last = l.since() >= 11 && l.GetString("mode") == "CRD";
  const auto dims = ImageDims(l, x);
  if (!l.ok()) return;
  if (b < 1 || b > kToTheEnd) return Wrong(l, absl::StrCat("blocksize is ", b, ", needs a positive number of 32 bits"));
  if (!dims) {
    if (!rows_last) return l.NeedsShape("the image's size");
    return l.Result("output", l.Op("pixel_shuffle", {{"X", x}}, {{"upscale_factor", WholeNumber(b)}}));
  }
  const int64_t c = (*dims)[0] / (b * b), h = (*dims)[1], w = (*dims)[2];
  Var* blocks = rows_last ? l.Transpose(l.Reshape(x, {0, c, b, b, h, w}), {0, 1, 4, 2, 5, 3})
                          : l.Transpose(l.Reshape(x, {0, b, b, c, h, w}), {0, 3, 4, 1, 5, 2});
  l.Result("output", l.Reshape(blocks, {0, c, h * b, w * b}));
}

void LowerSpaceToDepth(Lowering& l) {
  Var* x = l.In("input");
  const int64_t b = l.GetInt("blocksize");
  const auto dims = ImageDims(l, x);
  if (!l.ok()) return;
  if (b < 1 || b > kToTheEnd) return Wrong(l, absl::StrCat("blocksize is ", b, ", needs a positive number of 32 bits"));
  if (!dims) return l.NeedsShape("the image's size");
  const int64_t c = (*dims)[0], h = (*dims)[1] / b, w = (*dims)[2] / b;
  const bool rows_last = l.since() >= 28 && l.GetString("mode") == "CRD";
  Var* blocks = l.Reshape(x, {0, c, h, b, w, b});
  blocks = l.Transpose(blocks, rows_last ? std::vector<int>{0, 1, 3, 5, 2, 4} : std::vector<int>{0, 3, 5, 1, 2, 4});
  l.Result("output", l.Reshape(blocks, {0, SatMul(c, b * b), h, w}));
}

}  // namespace

void AddShape(OnnxOps& ops) {
  ops.Add("Reshape").Like("reshape2").Lower(&LowerReshape);
  ops.Add("Flatten").Like("flatten2").Lower(&LowerFlatten);
  ops.Add("Squeeze").Like("squeeze2").Lower(&LowerSqueeze);
  ops.Add("Unsqueeze").Like("unsqueeze2").Lower(&LowerUnsqueeze);
  ops.Add("Transpose").Like("transpose2").Lower(&LowerTranspose);
  ops.Add("Shape").Like("shape").Lower(&LowerShape).AsIs({"data"});
  ops.Add("Size").Like("size").Lower(&LowerSize).AsIs({"data"});
  ops.Add("Expand").Like("expand_v2").Lower(&LowerExpand);
  ops.Add("Tile").Like("tile").Lower(&LowerTile).AsIs({"tiles", "axis"}).AmpWhen(&TileClass);
  ops.Add("Identity").Like("assign").Lower(&LowerIdentity).AmpWhen(&IdentityClass).TakesSequences();
  ops.Add("Concat").Like("concat").Lower(&LowerConcat);
  ops.Add("Split").Like("split").Lower(&LowerSplit);
  ops.Add("DepthToSpace").Like("pixel_shuffle").Lower(&LowerDepthToSpace);
  ops.Add("SpaceToDepth").Like("pixel_shuffle").Lower(&LowerSpaceToDepth);
}

}  // namespace ampc::onnx
