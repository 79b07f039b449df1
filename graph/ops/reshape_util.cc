#include "graph/ops/reshape_util.h"

#include <algorithm>
#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

void MaybeXShape(InferContext& ctx, const TensorType& x) {
  if (ctx.op().def().OutputSlot("XShape") >= 0) OutXShape(ctx, x);
}

// A product with unknown factors: `known` times the dimensions counted by `unknown`, of which `last` is one.
struct Factors {
  int64_t known = 1;
  int unknown = 0;
  int64_t last = kUnknownDim;
  bool Add(int64_t d) {
    if (IsKnown(d)) return !__builtin_mul_overflow(known, d, &known);
    ++unknown;
    last = d;
    return true;
  }
};

// The dimension that -1 stands for: x divided by the other dimensions. Copied dimensions cancel and are in neither.
absl::StatusOr<int64_t> Rest(const InferContext& ctx, const Factors& x, const Factors& others) {
  if (others.unknown > 0 || x.unknown > 1) return kUnknownDim;
  if (x.unknown == 1) return x.known == others.known ? x.last : kUnknownDim;
  if (others.known == 0) return x.known == 0 ? kUnknownDim : 0;
  if (x.known % others.known != 0) {
    return Fail(ctx, 3, "X has ", x.known, " elements to share out, needs a multiple of ", others.known, " for -1");
  }
  return x.known / others.known;
}

absl::StatusOr<Dims> TargetDims(const InferContext& ctx, const TensorType& x, const std::vector<std::optional<int64_t>>& shape) {
  const int n = static_cast<int>(shape.size());
  Dims out(n, kUnknownDim);
  std::vector<bool> cancels(x.has_rank ? x.rank() : 0, false);
  int rest = -1;
  bool whole = true;  // every number of the shape is known
  for (int i = 0; i < n; ++i) {
    if (!shape[i].has_value()) {
      whole = false;
    } else if (*shape[i] == -1) {
      if (rest >= 0) return Fail(ctx, 1, "shape has -1 at dims ", rest, " and ", i, ", needs at most one");
      rest = i;
    } else if (*shape[i] < -1) {
      return Fail(ctx, 1, "shape has ", *shape[i], " at dim ", i, ", needs a size, 0 or -1");
    } else if (*shape[i] == 0 && x.has_rank) {
      if (i >= x.rank()) return Fail(ctx, 2, "shape has 0 at dim ", i, ", where X of rank ", x.rank(), " has no dimension to copy");
      out[i] = x.dims[i];
      cancels[i] = true;
    } else if (*shape[i] != 0) {
      out[i] = *shape[i];
    }
  }
  if (!x.has_rank || !whole) return out;
  Factors from;
  Factors to;
  for (int i = 0; i < x.rank(); ++i) {
    if (!cancels[i] && !from.Add(x.dims[i])) return Fail(ctx, 4, "X has more elements than 64 bits count");
  }
  for (int i = 0; i < n; ++i) {
    const bool copied = i < x.rank() && cancels[i];
    if (i != rest && !copied && !to.Add(out[i])) return Fail(ctx, 4, "shape has more elements than 64 bits count");
  }
  if (rest >= 0) {
    AMPC_ASSIGN_OR_RETURN(out[rest], Rest(ctx, from, to));
  } else if (from.unknown == 0 && to.unknown == 0 && from.known != to.known) {
    const int64_t all = Product(x.dims);
    return Fail(ctx, 4, "shape has ", DimText(Product(out)), " elements, needs ", DimText(all), " like X");
  }
  return out;
}

absl::Status InferReshape(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  const ShapeArg shape = ReadShapeArg(ctx, "ShapeTensor", "Shape", "shape");
  TensorType out = TensorType::Unranked(x.dtype);
  if (shape.has_value()) {
    out.has_rank = true;
    AMPC_ASSIGN_OR_RETURN(out.dims, TargetDims(ctx, x, *shape));
  }
  ctx.Out("Out", std::move(out));
  MaybeXShape(ctx, x);
  return absl::OkStatus();
}

// A named axis that is not 1 stays, as in Paddle; a named axis of unknown size goes. Without axes every 1 goes.
absl::Status InferSqueeze(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  MaybeXShape(ctx, x);
  const std::vector<int64_t> given = ctx.op().GetInts("axes");
  if (!x.has_rank || (given.empty() && !std::all_of(x.dims.begin(), x.dims.end(), IsKnown))) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, given, x.rank(), 1));
  TensorType out = RankZero(x.dtype);
  for (int i = 0; i < x.rank(); ++i) {
    const bool named = given.empty() || std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!named || Differ(x.dims[i], 1)) out.dims.push_back(x.dims[i]);
  }
  if (out.dims.empty() && x.rank() > 0) out.dims = ScalarDims(ctx, "Out");
  ctx.Out("Out", out);
  return absl::OkStatus();
}

// The axes apply one after the other, each to the shape so far, as in Paddle.
absl::Status InferUnsqueeze(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  MaybeXShape(ctx, x);
  const ShapeArg axes = ReadShapeArg(ctx, "AxesTensorList", "AxesTensor", "axes");
  if (!axes.has_value() || !x.has_rank) {
    ctx.Out("Out", TensorType::Unranked(x.dtype));
    return absl::OkStatus();
  }
  TensorType out = x;
  out.lod_level = 0;
  bool known = true;
  for (const std::optional<int64_t>& axis : *axes) {
    if (!axis.has_value()) {
      known = false;
      continue;
    }
    AMPC_ASSIGN_OR_RETURN(auto at, Axes(ctx, {*axis}, out.rank() + 1, 1));
    out.dims.insert(out.dims.begin() + at[0], 1);
  }
  if (!known) out.dims.assign(x.rank() + axes->size(), kUnknownDim);
  ctx.Out("Out", out);
  return absl::OkStatus();
}

absl::Status InferFlattenAt(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  MaybeXShape(ctx, x);
  if (!x.has_rank) {
    ctx.Out("Out", TensorType(x.dtype, Dims(2, kUnknownDim)));
    return absl::OkStatus();
  }
  const int64_t axis = ctx.op().GetInt("axis");
  if (axis < 0 || axis > x.rank()) return Fail(ctx, 1, "axis is ", axis, ", needs 0 to ", x.rank());
  const int at = static_cast<int>(axis);
  const int64_t rows = at == 1 ? x.dims[0] : Product(Slice(x.dims, 0, at));
  ctx.Out("Out", TensorType(x.dtype, {rows, Product(Slice(x.dims, at, x.rank()))}));
  return absl::OkStatus();
}

// The common record of views.
OpDef View(std::string name, std::string doc) {
  return OpDef(std::move(name)).Doc(std::move(doc)).CostIs(FreeCost).Amp(kClear, "a view of its operand: no value changes");
}

}  // namespace

OpDef Reshape(std::string name, std::string doc) {
  return View(std::move(name), std::move(doc))
      .In("X")
      .HostIn("Shape")
      .HostVarIn("ShapeTensor")
      .Out("Out")
      .A("shape", Ints{})
      .Infer(InferReshape);
}

OpDef Squeeze(std::string name, std::string doc) {
  return View(std::move(name), std::move(doc)).In("X").Out("Out").A("axes", Ints{}).Infer(InferSqueeze).Alias("onnx", "Squeeze");
}

OpDef Unsqueeze(std::string name, std::string doc) {
  return View(std::move(name), std::move(doc))
      .In("X")
      .HostIn("AxesTensor")
      .HostVarIn("AxesTensorList")
      .Out("Out")
      .A("axes", Ints{})
      .Infer(InferUnsqueeze)
      .Alias("onnx", "Unsqueeze");
}

OpDef Flatten(std::string name, std::string doc) {
  return View(std::move(name), std::move(doc)).In("X").Out("Out").A("axis", 1).Infer(InferFlattenAt).Alias("onnx", "Flatten");
}

}  // namespace ampc::ops
