#include "graph/ops/infer_util.h"

#include <algorithm>
#include <utility>

namespace ampc::ops {

std::string DimText(int64_t dim) { return IsKnown(dim) ? absl::StrCat(dim) : "?"; }

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) {
    if (!IsKnown(d) || __builtin_mul_overflow(n, d, &n)) return kUnknownDim;
  }
  return n;
}

absl::Span<const int64_t> Slice(const Dims& dims, int begin, int end) { return absl::MakeConstSpan(dims).subspan(begin, end - begin); }

absl::Status NeedRank(const InferContext& ctx, absl::string_view slot, int min, int max, int c) {
  const TensorType& type = ctx.In(slot);
  if (!type.has_rank || (type.rank() >= min && type.rank() <= max)) return absl::OkStatus();
  if (min == max) return Fail(ctx, c, slot, " has rank ", type.rank(), ", needs ", min);
  return Fail(ctx, c, slot, " has rank ", type.rank(), ", needs ", min, " to ", max);
}

absl::Status NeedSameDType(const InferContext& ctx, absl::string_view a, absl::string_view b, int c) {
  const DType x = ctx.In(a).dtype;
  const DType y = ctx.In(b).dtype;
  if (x == y || x == DType::kInvalid || y == DType::kInvalid) return absl::OkStatus();
  return Fail(ctx, c, b, " is ", Name(y), ", needs ", Name(x), " like ", a);
}

absl::Status NeedInteger(const InferContext& ctx, absl::string_view slot, int c) {
  const DType t = ctx.In(slot).dtype;
  if (t == DType::kI32 || t == DType::kI64 || t == DType::kInvalid) return absl::OkStatus();
  return Fail(ctx, c, slot, " is ", Name(t), ", needs i32 or i64");
}

DType StatDType(DType x) { return IsLowPrecision(x) ? DType::kF32 : x; }

absl::Status NeedPerChannel(const InferContext& ctx, absl::string_view slot, int64_t size, DType x, bool same_too, int c) {
  if (!ctx.Has(slot)) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, slot, 1, 1, c));
  const TensorType& type = ctx.In(slot);
  if (type.has_rank && Differ(type.dims[0], size)) return Fail(ctx, c, slot, " has ", type.dims[0], " elements, needs ", size);
  const DType want = StatDType(x);
  if (x == DType::kInvalid || type.dtype == DType::kInvalid || type.dtype == want || (same_too && type.dtype == x)) return absl::OkStatus();
  return Fail(ctx, c, slot, " is ", Name(type.dtype), ", needs ", Name(want));
}

absl::StatusOr<absl::InlinedVector<int, 4>> Axes(const InferContext& ctx, absl::Span<const int64_t> axes, int rank, int c) {
  absl::InlinedVector<int, 4> out;
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) return Fail(ctx, c, "axis ", axis, " is outside [", -rank, ", ", rank, ")");
    const int normal = static_cast<int>(axis < 0 ? axis + rank : axis);
    if (std::find(out.begin(), out.end(), normal) == out.end()) out.push_back(normal);
  }
  return out;
}

ShapeArg ReadShapeArg(const InferContext& ctx, absl::string_view list_slot, absl::string_view tensor_slot, absl::string_view attr) {
  const std::vector<int64_t> given = attr.empty() ? std::vector<int64_t>() : ctx.op().GetInts(attr);
  if (!list_slot.empty() && ctx.Has(list_slot)) {
    std::vector<std::optional<int64_t>> out(ctx.Count(list_slot));
    for (size_t i = 0; i < out.size(); ++i) {
      const std::optional<std::vector<int64_t>> value = ctx.Ints(list_slot, static_cast<int>(i));
      if (value.has_value() && value->size() == 1) {
        out[i] = (*value)[0];
      } else if (given.size() == out.size() && given[i] >= 0) {
        out[i] = given[i];  // a list that mixes numbers and tensors keeps the numbers in the attribute, -1 for a tensor
      }
    }
    return out;
  }
  if (!tensor_slot.empty() && ctx.Has(tensor_slot)) {
    if (const std::optional<std::vector<int64_t>> value = ctx.Ints(tensor_slot)) {
      return std::vector<std::optional<int64_t>>(value->begin(), value->end());
    }
    const TensorType& type = ctx.In(tensor_slot);
    if (!type.has_rank || type.rank() != 1 || !IsKnown(type.dims[0])) return std::nullopt;
    return std::vector<std::optional<int64_t>>(type.dims[0]);
  }
  return std::vector<std::optional<int64_t>>(given.begin(), given.end());
}

absl::StatusOr<std::optional<int64_t>> ReadIntArg(const InferContext& ctx, absl::string_view slot, absl::string_view attr, int c) {
  if (!ctx.Has(slot)) return ctx.op().GetInt(attr);
  AMPC_RETURN_IF_ERROR(NeedInteger(ctx, slot, c));
  const std::optional<std::vector<int64_t>> value = ctx.Ints(slot);
  if (!value.has_value() || value->size() != 1) return std::nullopt;
  return (*value)[0];
}

std::optional<int64_t> BroadcastDim(int64_t a, int64_t b) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  if (IsKnown(a)) return IsKnown(b) ? std::nullopt : std::optional<int64_t>(a);
  return IsKnown(b) ? b : kUnknownDim;
}

absl::StatusOr<Dims> BroadcastDims(const InferContext& ctx, const Dims& x, const Dims& y, int64_t axis, int c) {
  const bool swap = x.size() < y.size();
  const Dims& big = swap ? y : x;
  const Dims& small = swap ? x : y;
  const int64_t room = static_cast<int64_t>(big.size() - small.size());
  if (axis == -1) axis = room;
  if (axis < 0 || axis > room) {
    return Fail(ctx, c, "axis ", axis, " does not place a shape of rank ", small.size(), " in one of rank ", big.size());
  }
  Dims out = big;
  for (size_t i = 0; i < small.size(); ++i) {
    const std::optional<int64_t> d = BroadcastDim(big[axis + i], small[i]);
    if (!d.has_value()) {
      const int64_t dy = swap ? big[axis + i] : small[i];
      const int64_t dx = swap ? small[i] : big[axis + i];
      return Fail(ctx, c, "Y has ", dy, " at dim ", axis + i, " of the result, needs ", dx, " or 1");
    }
    out[axis + i] = *d;
  }
  return out;
}

TensorType RankZero(DType dtype) {
  TensorType type = TensorType::Unranked(dtype);
  type.has_rank = true;
  return type;
}

Dims ScalarDims(const InferContext& ctx, absl::string_view slot) {
  const Var* var = ctx.op().output(slot);
  if (var != nullptr && var->type.has_rank && var->type.rank() == 1 && var->type.dims[0] == 1) return {1};
  return {};
}

void OutDeclared(InferContext& ctx, absl::string_view slot, TensorType type) {
  const Var* var = ctx.op().output(slot);
  if (var != nullptr && var->type.has_rank) {
    TensorType declared = var->type.dtype == DType::kInvalid ? var->type.WithDType(type.dtype) : var->type;
    if (declared.rank() == type.rank()) {
      for (int i = 0; i < type.rank(); ++i) declared.dims[i] = Merge(declared.dims[i], type.dims[i]);
    }
    const bool fits = declared.IsStatic() && type.IsStatic() && declared.NumElements() == type.NumElements();
    ctx.Out(slot, fits || !ctx.PlansMemory() ? std::move(declared) : type.WithDType(declared.dtype));
  } else {
    ctx.Out(slot, std::move(type));
  }
}

void OutXShape(InferContext& ctx, const TensorType& x) {
  TensorType type = TensorType::Unranked(x.dtype);
  if (x.has_rank) {
    type.has_rank = true;
    type.dims.push_back(0);
    type.dims.insert(type.dims.end(), x.dims.begin(), x.dims.end());
  }
  ctx.Out("XShape", std::move(type));
}

absl::StatusOr<TensorType> AlikeOperands(const InferContext& ctx, absl::string_view slot, int c_rank, int c_dims) {
  TensorType out = ctx.In(slot, 0);
  for (int i = 1; i < ctx.Count(slot); ++i) {
    const TensorType& x = ctx.In(slot, i);
    if (x.dtype != out.dtype && x.dtype != DType::kInvalid && out.dtype != DType::kInvalid) {
      return Fail(ctx, 1, "operand ", i, " is ", Name(x.dtype), ", needs ", Name(out.dtype), " like operand 0");
    }
    if (!x.has_rank) continue;
    if (!out.has_rank) out = x.WithDType(out.dtype);
    if (x.rank() != out.rank()) return Fail(ctx, c_rank, "operand ", i, " has rank ", x.rank(), ", needs ", out.rank());
    for (int d = 0; d < x.rank(); ++d) {
      if (Differ(x.dims[d], out.dims[d]))
        return Fail(ctx, c_dims, "operand ", i, " has ", x.dims[d], " at dim ", d, ", needs ", out.dims[d]);
      out.dims[d] = Merge(out.dims[d], x.dims[d]);
    }
  }
  return out;
}

absl::Status InferSame(InferContext& ctx) {
  ctx.Out("Out", ctx.In("X"));
  return absl::OkStatus();
}

absl::Status InferNothing(InferContext&) { return absl::OkStatus(); }

absl::Status InferReduced(InferContext& ctx, DType dtype, const ShapeArg& dim, bool all, bool keep) {
  const TensorType& x = ctx.In("X");
  all = all || (dim.has_value() && dim->empty());
  if (!x.has_rank) {
    ctx.Out("Out", all && !keep ? TensorType(dtype, ScalarDims(ctx, "Out")) : TensorType::Unranked(dtype));
    return absl::OkStatus();
  }
  std::vector<bool> reduced(x.rank(), all);
  if (!all) {
    std::vector<int64_t> known;
    for (size_t i = 0; dim.has_value() && i < dim->size() && (*dim)[i].has_value(); ++i) known.push_back(*(*dim)[i]);
    if (!dim.has_value() || known.size() != dim->size()) {
      ctx.Out("Out", keep ? TensorType(dtype, Dims(x.rank(), kUnknownDim)) : TensorType::Unranked(dtype));
      return absl::OkStatus();
    }
    AMPC_ASSIGN_OR_RETURN(auto axes, Axes(ctx, known, x.rank(), 1));
    for (int axis : axes) reduced[axis] = true;
  }
  TensorType out = RankZero(dtype);
  for (int i = 0; i < x.rank(); ++i) {
    if (!reduced[i]) out.dims.push_back(x.dims[i]);
    if (reduced[i] && keep) out.dims.push_back(1);
  }
  if (out.dims.empty()) out.dims = ScalarDims(ctx, "Out");
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace ampc::ops
