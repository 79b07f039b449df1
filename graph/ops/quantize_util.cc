#include "graph/ops/quantize_util.h"

#include <algorithm>
#include <string>

#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

// The slots in front of Bias are x, w, then three and three of them.
constexpr int kXScale = 2, kXZero = 3, kWScale = 4, kWZero = 5;

const std::string& SlotName(const InferContext& ctx, int slot) { return ctx.op().def().inputs[slot].name; }

absl::Status NeedScale(const InferContext& ctx, const std::string& slot, int c) {
  if (!ctx.Has(slot) || ctx.In(slot).dtype == DType::kF32 || ctx.In(slot).dtype == DType::kInvalid) return absl::OkStatus();
  return Fail(ctx, c, slot, " is ", Name(ctx.In(slot).dtype), ", needs f32");
}

absl::Status NeedZeroPoint(const InferContext& ctx, const std::string& slot, int c) {
  if (!ctx.Has(slot)) return absl::OkStatus();
  const DType dtype = ctx.In(slot).dtype;
  if (IsQuantized(dtype) || dtype == DType::kI32 || dtype == DType::kInvalid) return absl::OkStatus();
  return Fail(ctx, c, slot, " is ", Name(dtype), ", needs u8, i8, u16, i16 or i32");
}

}  // namespace

bool IsQuantized(DType dtype) { return IsByte(dtype) || dtype == DType::kU16 || dtype == DType::kI16; }

absl::Status CheckScales(const InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedScale(ctx, "Scale", 4));
  AMPC_RETURN_IF_ERROR(NeedZeroPoint(ctx, "ZeroPoint", 4));
  const TensorType& x = ctx.In("X");
  const int64_t axis = ctx.op().GetInt("axis");
  if (axis < -1 || (x.has_rank && axis >= std::max(1, x.rank()))) return Fail(ctx, 1, "axis is ", axis, ", needs -1 or an axis of X");
  const int64_t along = !x.has_rank ? kUnknownDim : axis >= 0 && axis < x.rank() ? x.dims[axis] : 1;
  for (const char* slot : {"Scale", "ZeroPoint"}) {
    if (!ctx.Has(slot) || !ctx.In(slot).has_rank) continue;
    const int64_t count = Product(ctx.In(slot).dims);
    if (count != 1 && Differ(count, along))
      return Fail(ctx, 2, slot, " has ", count, " elements, needs 1 or ", along, ", one for each index along axis ", axis);
  }
  return absl::OkStatus();
}

OpDef& QuantizedProductSlots(OpDef& def, const std::string& x, const std::string& w, const std::string& out) {
  for (const std::string& operand : {x, w}) def.OptIn(operand + "Scale", kAsIs).OptIn(operand + "ZeroPoint", kAsIs);
  return def.OptIn("Bias", kAsIs)
      .OptIn("OutScale", kAsIs)
      .OptIn("OutZeroPoint", kAsIs)
      .Out(out, kAsIs)
      .DTypeAttr("out_dtype", DType::kU8, false)
      .Extra("fuse_activation", "")
      .Extra("fuse_alpha", 0.0f)
      .Extra("fuse_beta", 0.0f)
      .Amp(kNever, "quantised: its scales stay as they are")
      .Gradient("none: rounding has none");
}

absl::Status CheckQuantizedProduct(const InferContext& ctx, const std::string& x, const std::string& w) {
  for (const std::string& operand : {x, w}) {
    const DType dtype = ctx.In(operand).dtype;
    if (dtype != DType::kInvalid && !IsByte(dtype)) return Fail(ctx, 1, operand, " is ", Name(dtype), ", needs u8 or i8");
  }
  for (const std::string& slot : {SlotName(ctx, kXScale), SlotName(ctx, kWScale), std::string("Bias"), std::string("OutScale")})
    AMPC_RETURN_IF_ERROR(NeedScale(ctx, slot, 1));
  for (const std::string& slot : {SlotName(ctx, kXZero), SlotName(ctx, kWZero), std::string("OutZeroPoint")})
    AMPC_RETURN_IF_ERROR(NeedZeroPoint(ctx, slot, 1));
  const DType to = ctx.op().GetDType("out_dtype");
  if (!IsByte(to)) return Fail(ctx, 1, "out_dtype is ", Name(to), ", needs u8 or i8");
  for (const std::string& slot : {SlotName(ctx, kXScale), SlotName(ctx, kXZero), std::string("OutScale"), std::string("OutZeroPoint")}) {
    if (!ctx.Has(slot) || !ctx.In(slot).has_rank) continue;
    const int64_t count = Product(ctx.In(slot).dims);
    if (Differ(count, 1)) return Fail(ctx, 2, slot, " has ", count, " elements, needs 1");
  }
  const bool scaled = ctx.Has(SlotName(ctx, kXScale));
  if (scaled != ctx.Has(SlotName(ctx, kWScale)) || (!scaled && (ctx.Has("Bias") || ctx.Has("OutScale")))) {
    return Fail(ctx, 2, SlotName(ctx, kXScale), " and ", SlotName(ctx, kWScale), " come together, and only with them Bias and OutScale");
  }
  return absl::OkStatus();
}

absl::Status CheckColumns(const InferContext& ctx, int64_t columns) {
  for (const std::string& slot : {SlotName(ctx, kWScale), SlotName(ctx, kWZero), std::string("Bias")}) {
    if (!ctx.Has(slot) || !ctx.In(slot).has_rank) continue;
    const int64_t count = Product(ctx.In(slot).dims);
    if (count != 1 && Differ(count, columns)) return Fail(ctx, 3, slot, " has ", count, " elements, needs 1 or ", columns);
  }
  return absl::OkStatus();
}

DType TypeOfQuantizedProduct(const InferContext& ctx) {
  if (!ctx.Has(SlotName(ctx, kXScale))) return DType::kI32;
  return ctx.Has("OutScale") ? ctx.op().GetDType("out_dtype") : DType::kF32;
}

}  // namespace ampc::ops
