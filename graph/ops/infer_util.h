// Shared by the records of graph/ops: checks with labelled errors, shape arithmetic with unknown dimensions, result types.
// A dimension below 0 is unknown (graph/type.h); it is copied where possible so that symbols survive.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/op_def.h"

namespace ampc::ops {

using enum AmpClass;
using enum SlotPrecision;
// List types of attributes.
using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

// The error of constraint number `c` of the op; the parts make the text: "...: <parts> (conv2d.c2)".
template <typename... Parts>
absl::Status Fail(const InferContext& ctx, int c, const Parts&... parts) {
  return ctx.Error(absl::StrCat(parts...), absl::StrCat(ctx.op().type(), ".c", c));
}

std::string DimText(int64_t dim);  // "?" for an unknown dimension
inline bool Differ(int64_t a, int64_t b) { return IsKnown(a) && IsKnown(b) && a != b; }
inline int64_t Merge(int64_t a, int64_t b) { return IsKnown(a) ? a : IsKnown(b) ? b : a == b ? a : kUnknownDim; }
int64_t Product(absl::Span<const int64_t> dims);  // kUnknownDim when a dimension is unknown; 1 for none
absl::Span<const int64_t> Slice(const Dims& dims, int begin, int end);

// The rank lies in [min, max], or is not known.
absl::Status NeedRank(const InferContext& ctx, absl::string_view slot, int min, int max, int c);
// The operands have one element type, as far as both are known.
absl::Status NeedSameDType(const InferContext& ctx, absl::string_view a, absl::string_view b, int c);
absl::Status NeedInteger(const InferContext& ctx, absl::string_view slot, int c);  // i32 or i64
// Statistics and scales beside an operand `x`: f32 when x is f16 or bf16, else the type of x.
DType StatDType(DType x);
// The operand has rank 1 and `size` elements of StatDType(x) - or of x itself where `same_too`.
absl::Status NeedPerChannel(const InferContext& ctx, absl::string_view slot, int64_t size, DType x, bool same_too, int c);

// Normalised to [0, rank), in the given order; an axis named twice counts once.
absl::StatusOr<absl::InlinedVector<int, 4>> Axes(const InferContext& ctx, absl::Span<const int64_t> axes, int rank, int c);

// A list of integers that determines a shape, from (in this order) a list of one-element tensors, one tensor, an attribute. An element
// whose value is not known is absent; absent as a whole when not even the count is known. A slot or attribute the op lacks is "".
using ShapeArg = std::optional<std::vector<std::optional<int64_t>>>;
ShapeArg ReadShapeArg(const InferContext& ctx, absl::string_view list_slot, absl::string_view tensor_slot, absl::string_view attr);
// One integer: the tensor in `slot` if present, which is i32 or i64, else the attribute.
absl::StatusOr<std::optional<int64_t>> ReadIntArg(const InferContext& ctx, absl::string_view slot, absl::string_view attr, int c);

// Numpy broadcasting of two dimensions: absent when both are known, differ, and neither is 1.
std::optional<int64_t> BroadcastDim(int64_t a, int64_t b);
// The result of broadcasting two shapes by Paddle's rule: `axis` is where the shorter shape starts in the longer one, -1 aligns the ends.
absl::StatusOr<Dims> BroadcastDims(const InferContext& ctx, const Dims& x, const Dims& y, int64_t axis, int c);

TensorType RankZero(DType dtype);  // ranked, no dimensions yet: the start of a result built dim by dim
// The dims of a result without dimensions. Paddle before 2.5 had no rank 0 and declares [1]: a result declared so stays so.
Dims ScalarDims(const InferContext& ctx, absl::string_view slot);
// The result takes its declared shape where it has one, else `type`: for results whose shape differs between versions of Paddle. Some
// versions write a product of open dims as 1: a plan takes `type` where a declaration has another size.
void OutDeclared(InferContext& ctx, absl::string_view slot, TensorType type);
// XShape, the result that remembers the operand's shape for the gradient: [0, dims of x], without elements.
void OutXShape(InferContext& ctx, const TensorType& x);

// The type that all operands of the slot have. Constraint 1: they have one element type; `c_rank`, `c_dims`: one rank, the same dims.
absl::StatusOr<TensorType> AlikeOperands(const InferContext& ctx, absl::string_view slot, int c_rank, int c_dims);

// Inference: Out has the type of X.
absl::Status InferSame(InferContext& ctx);
// Inference: Out is X without the axes `dim` or with 1 in their place; all axes where `all` or `dim` is empty. Constraint 1: the axes
// exist.
absl::Status InferReduced(InferContext& ctx, DType dtype, const ShapeArg& dim, bool all, bool keep);
// Inference: no result is derived; the declared types stand.
absl::Status InferNothing(InferContext& ctx);

}  // namespace ampc::ops
