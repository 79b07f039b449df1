#include "graph/ops/families.h"

#include <utility>

#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// X and Y, broadcast, as a tensor of type `dtype`; constraint `c` is broken where they do not fit.
absl::Status InferBroadcast(InferContext& ctx, DType dtype, int64_t axis, int c) {
  const TensorType& x = ctx.In("X");
  const TensorType& y = ctx.In("Y");
  TensorType out = TensorType::Unranked(dtype);
  if (x.has_rank && y.has_rank) {
    out = RankZero(dtype);
    AMPC_ASSIGN_OR_RETURN(out.dims, BroadcastDims(ctx, x.dims, y.dims, axis, c));
  }
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status InferElementwise(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Y", 1));
  const DType x = ctx.In("X").dtype;
  return InferBroadcast(ctx, x == DType::kInvalid ? ctx.In("Y").dtype : x, ctx.op().GetInt("axis"), 2);
}

absl::Status InferComparison(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Y", 1));
  return InferBroadcast(ctx, DType::kBool, ctx.op().GetInt("axis"), 2);
}

absl::Status InferLogical(InferContext& ctx) {
  if (ctx.op().def().InputSlot("Y") >= 0) return InferBroadcast(ctx, DType::kBool, -1, 1);
  ctx.Out("Out", ctx.In("X").WithDType(DType::kBool));
  return absl::OkStatus();
}

absl::Status InferBitwise(InferContext& ctx) {
  const DType x = ctx.In("X").dtype;
  if (IsFloat(x) || IsComplex(x)) return Fail(ctx, 1, "X is ", Name(x), ", needs bool or an integer type");
  if (ctx.op().def().InputSlot("Y") < 0) return InferSame(ctx);
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "X", "Y", 2));
  return InferBroadcast(ctx, x, -1, 3);
}

absl::Status InferReduction(InferContext& ctx) {
  const DType to = ctx.op().GetDType("out_dtype");
  const ShapeArg dim = ReadShapeArg(ctx, "", "", "dim");
  return InferReduced(ctx, to == DType::kInvalid ? ctx.In("X").dtype : to, dim, ctx.op().GetBool("reduce_all"),
                      ctx.op().GetBool("keep_dim"));
}

absl::Status InferLogicalReduction(InferContext& ctx) {
  const ShapeArg dim = ReadShapeArg(ctx, "AxisTensorList", "AxisTensor", "dim");
  return InferReduced(ctx, DType::kBool, dim, ctx.op().GetBool("reduce_all"), ctx.op().GetBool("keep_dim"));
}

OpDef Operands(std::string name, std::string doc, bool binary) {
  OpDef def(std::move(name));
  def.Doc(std::move(doc)).In("X", kAsIs);
  if (binary) def.In("Y", kAsIs);
  return def.Out("Out", kAsIs).CostIs(PerResult<1>);
}

}  // namespace

OpDef Unary(std::string name, std::string doc) {
  OpDef def(name);
  return def.Doc(std::move(doc))
      .In("X")
      .Out("Out")
      .Extra("use_cudnn", false)
      .Infer(InferSame)
      .CostIs(PerResult<1>)
      .GradientOp({"X", "Out", "X"})
      .FusedStep();
}

OpDef Elementwise(std::string name, std::string doc) {
  OpDef def(name);
  def.Doc(std::move(doc)).In("X").In("Y").Out("Out").A("axis", -1).Infer(InferElementwise).CostIs(PerResult<1>);
  def.GradientOp({"X Y", "Out", "X Y"}).FusedStep();
  return QuantExtras(def).Extra("x_data_format", "").Extra("y_data_format", "");
}

OpDef Comparison(std::string name, std::string doc) {
  OpDef def(std::move(name));
  return MayOverwrite(def.Doc(std::move(doc))
                          .In("X")
                          .In("Y")
                          .Out("Out", kAsIs)
                          .A("axis", -1)
                          .Extra("force_cpu", false)
                          .Infer(InferComparison)
                          .CostIs(PerResult<1>)
                          .Amp(kWidest, "values that differ in fp32 may be equal in a low type, so the operands do not become low for it")
                          .Gradient("none: a comparison has no derivative"));
}

OpDef Logical(std::string name, std::string doc, bool binary) {
  return MayOverwrite(Operands(std::move(name), std::move(doc), binary)
                          .Infer(InferLogical)
                          .Amp(kNever, "computes bool; a float operand is only asked whether it is 0")
                          .Gradient("none: a truth value has no derivative"));
}

OpDef Bitwise(std::string name, std::string doc, bool binary) {
  return Operands(std::move(name), std::move(doc), binary)
      .Infer(InferBitwise)
      .Amp(kNever, "computes with the bits of integers")
      .Gradient("none: bits have no derivative");
}

OpDef Reduction(std::string name, std::string doc) {
  OpDef def(name);
  return def.Doc(std::move(doc))
      .In("X")
      .Out("Out")
      .A("dim", Ints{0})
      .A("keep_dim", false)
      .A("reduce_all", false)
      .DTypeAttr("in_dtype", DType::kInvalid)
      .DTypeAttr("out_dtype", DType::kInvalid)
      .Infer(InferReduction)
      .CostIs(PerOperand<1>)
      .GradientOp({"X", "Out", "X"});
}

OpDef LogicalReduction(std::string name, std::string doc) {
  OpDef def(std::move(name));
  return def.Doc(std::move(doc))
      .In("X", kAsIs)
      .HostIn("AxisTensor")
      .HostVarIn("AxisTensorList")
      .Out("Out", kAsIs)
      .A("dim", Ints{0})
      .A("keep_dim", false)
      .A("reduce_all", false)
      .DTypeAttr("in_dtype", DType::kInvalid, false)
      .DTypeAttr("out_dtype", DType::kInvalid, false)
      .Infer(InferLogicalReduction)
      .CostIs(PerOperand<1>)
      .Amp(kNever, "computes bool; a float operand is only asked whether it is 0")
      .Gradient("none: a truth value has no derivative");
}

OpDef MayOverwrite(OpDef def, const std::string& slot) {
  def.outputs[def.OutputSlot(slot)].overwrites = true;
  return def;
}

OpDef& QuantExtras(OpDef& def) { return def.Extra("Scale_x", 1.0f).Extra("Scale_y", 1.0f).Extra("Scale_out", 1.0f); }

}  // namespace ampc::ops
