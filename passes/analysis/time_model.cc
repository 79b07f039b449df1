#include "passes/analysis/time_model.h"

#include <algorithm>

#include "graph/op_record.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

double DeclaredElements(const TensorType& type) {
  double n = 1;
  for (const int64_t d : type.dims) n *= IsKnown(d) ? static_cast<double>(d) : 1.0;
  return n;
}

// Bytes that an op reads and writes in float32, and the elements that follow its precision.
struct Traffic {
  double bytes = 0, elements = 0;
};

// A sweep over that many bytes.
double SweepSeconds(const DeviceNumbers& device, double bytes) {
  return bytes / (bytes <= device.near ? device.near_bytes : device.far_bytes) + device.sweep;
}

bool IsFloat32(const Var& var) { return var.type.dtype == DType::kF32 || var.was == DType::kF32; }

}  // namespace

ProgramSizes SizesOf(const Program& program, const Program& sized) {
  ProgramSizes sizes;
  sizes.costs.resize(program.num_op_ids());
  sizes.elements.resize(program.num_var_ids(), 1);
  for (int b = 0; b < program.num_blocks(); ++b) {
    const Block &from = program.block(b), &to = sized.block(b);
    for (size_t i = 0; i < from.ops().size(); ++i) {
      sizes.costs[from.ops()[i]->id()] = CostOf(*to.ops()[i]);
    }
    for (size_t i = 0; i < from.vars().size(); ++i) sizes.elements[from.vars()[i]->id()] = DeclaredElements(to.vars()[i]->type);
  }
  return sizes;
}

TimeModel::TimeModel(const Program& program, const ProgramSizes* sizes, const DeviceNumbers& device, DType low)
    : sizes_(sizes), feeds_(sizes == nullptr ? "" : sizes->feeds), device_(device), low_(low), known_(program.num_var_ids(), false) {
  ForEachVar(program, [this](const Var& var) { known_[var.id()] = var.kind == VarKind::kParam || var.kind == VarKind::kConst; });
  ForEachOp(program, [this](const Op& op) {
    if (!op.def().pure || !op.SubBlocks().empty()) return;
    const bool known = std::all_of(op.inputs().begin(), op.inputs().end(), [this](const Var* var) { return known_[var->id()]; });
    for (const Var* var : op.outputs()) known_[var->id()] = known && var->kind == VarKind::kTemp;
  });
}

double TimeModel::Elements(const Var& var) const {
  return sizes_ != nullptr && var.id() < static_cast<int>(sizes_->elements.size()) ? sizes_->elements[var.id()]
                                                                                   : DeclaredElements(var.type);
}

bool TimeModel::FollowsIn(const Op& op, int flat) const {
  return IsFloat32(*op.inputs()[flat]) && InputPrecisionFor(op.def(), op.InputSlotOf(flat), low_) == SlotPrecision::kFollow;
}

bool TimeModel::FollowsOut(const Op& op, int flat) const {
  return IsFloat32(*op.outputs()[flat]) && OutputPrecisionFor(op.def(), op.OutputSlotOf(flat), low_) == SlotPrecision::kFollow;
}

double TimeModel::OpSeconds(const Op& op, bool low) const {
  if (op.marks.amp == AmpMark::kInserted) return 0;
  if (std::all_of(op.outputs().begin(), op.outputs().end(), [this](const Var* var) { return known_[var->id()]; })) return 0;
  const bool may_be_measured = sizes_ != nullptr && op.id() < static_cast<int>(sizes_->measured.size());
  const MeasuredOp measured = may_be_measured ? sizes_->measured[op.id()] : MeasuredOp();
  if (!measured.fp32.has_value()) return FromWork(op, low);
  if (!low) return *measured.fp32;
  if (measured.low.has_value()) return *measured.low;
  const double fp32 = FromWork(op, false);
  return fp32 > 0 ? *measured.fp32 * FromWork(op, true) / fp32 : *measured.fp32;
}

double TimeModel::FromWork(const Op& op, bool low) const {
  const Cost cost = sizes_ != nullptr && op.id() < static_cast<int>(sizes_->costs.size()) ? sizes_->costs[op.id()] : CostOf(op);
  if (cost.flops == 0 && cost.bytes == 0) return 0;
  Traffic traffic;
  double declared = 0;  // what the record counts, which may be a part of it: the rows that an index names
  const auto add = [&](const Var& var, bool follows) {
    const double elements = Elements(var);
    declared += elements * static_cast<double>(SizeOf(var.type.dtype));
    traffic.bytes += elements * static_cast<double>(follows ? 4 : SizeOf(var.type.dtype));
    if (follows) traffic.elements += elements;
  };
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) add(*op.inputs()[i], FollowsIn(op, i));
  for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) add(*op.outputs()[i], FollowsOut(op, i));
  const double part = declared > 0 ? std::min(1.0, cost.bytes / declared) : 1;
  traffic.bytes *= part;
  traffic.elements *= part;

  const bool grouped = op.GetInt("groups", 1) > 1 || op.GetInt("group", 1) > 1;
  const bool multiplies = AmpClassOf(op) == AmpClass::kAllow;
  const double fp32 = std::max(cost.flops / (grouped ? device_.f32_grouped : device_.f32_flops), SweepSeconds(device_, traffic.bytes));
  const double rate =
      low_ == DType::kBF16 ? (grouped ? device_.bf16_grouped : device_.bf16_flops) : (grouped ? device_.f16_grouped : device_.f16_flops);
  if (!low || rate == 0) return fp32;  // no instructions for it: float32 is computed, and lies in memory
  const double rounded = multiplies || device_.in_tiles == 0 ? 0 : traffic.elements / device_.in_tiles;
  const double flops = multiplies ? cost.flops / rate : cost.flops / device_.f32_flops;
  // A device may keep float32 where it is faster.
  return std::min(fp32, std::max(flops, SweepSeconds(device_, traffic.bytes - 2 * traffic.elements)) + rounded);
}

double TimeModel::CastSeconds(const Var& var) const { return known_[var.id()] ? 0 : Elements(var) / device_.converted + device_.sweep; }

}  // namespace ampc
