// Op: one operation of a block: record, operands and results by slot, attributes, marks.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "graph/attr.h"
#include "graph/op_def.h"
#include "graph/var.h"

namespace ampc {

enum class AmpMark : uint8_t {
  kNone,
  kInserted,  // AMP put this op there; stripping removes it
  kFp32,      // must stay fp32; amp_reason says why
};

struct OpMarks {
  int guard = 0;  // fp16_guard region, counted from 1; 0 is outside
  AmpMark amp = AmpMark::kNone;
  std::string amp_reason;
  // Data type attributes that AMP retargeted, with the value before.
  std::vector<std::pair<std::string, DType>> was;
  friend bool operator==(const OpMarks&, const OpMarks&) = default;
};

class Op {
 public:
  Op(Block* block, int id, const OpDef* def);
  Op(const Op&) = delete;

  int id() const { return id_; }
  Block& block() const { return *block_; }
  const OpDef& def() const { return *def_; }
  bool HasTrait(OpTrait trait) const { return def().HasTrait(trait); }
  const std::string& type() const { return def_->name; }

  // Slots are indexes into def().inputs / def().outputs. An absent optional operand is an empty slot.
  absl::Span<Var* const> inputs(int slot) const { return slot < 0 ? absl::Span<Var* const>() : Slot(slot); }
  absl::Span<Var* const> outputs(int slot) const { return slot < 0 ? absl::Span<Var* const>() : Slot(num_input_slots() + slot); }
  absl::Span<Var* const> inputs() const { return absl::MakeConstSpan(begin_, num_inputs_); }  // all slots in order
  absl::Span<Var* const> outputs() const { return absl::MakeConstSpan(begin_ + num_inputs_, num_outputs_); }
  Var* input(int slot) const { return inputs(slot).empty() ? nullptr : inputs(slot)[0]; }
  Var* output(int slot) const { return outputs(slot).empty() ? nullptr : outputs(slot)[0]; }
  // By slot name; null when the slot is empty or unknown.
  Var* input(absl::string_view slot) const;
  Var* output(absl::string_view slot) const;
  void SetInputs(int slot, absl::Span<Var* const> vars) { SetSlot(slot, vars); }
  void SetOutputs(int slot, absl::Span<Var* const> vars) { SetSlot(num_input_slots() + slot, vars); }
  // Replaces one operand by flat position (as in inputs()).
  void ReplaceInput(int flat, Var* var) { begin_[flat] = var; }
  void ReplaceOutput(int flat, Var* var) { begin_[num_inputs_ + flat] = var; }
  int InputSlotOf(int flat) const { return SlotOf(flat, 0, num_input_slots()); }  // -1 beyond the last
  int OutputSlotOf(int flat) const { return SlotOf(num_inputs_ + flat, num_input_slots(), static_cast<int>(ends_.size())); }
  // A result is written again (`<-`) rather than defined: its variable is param, state or carry.
  bool Overwrites(int flat) const { return outputs()[flat]->IsWritable(); }

  // Attributes given explicitly, in the order of the file.
  const std::vector<Attr>& attrs() const { return attrs_; }
  // The explicit value, else the record's default, else null.
  const AttrValue* attr(absl::string_view name) const;
  const AttrValue* explicit_attr(absl::string_view name) const;
  void SetAttr(absl::string_view name, AttrValue value);
  void RemoveAttr(absl::string_view name);
  // Typed access with the usual widenings (int -> long, float -> double); `fallback` when absent or of another type.
  bool GetBool(absl::string_view name, bool fallback = false) const;
  int64_t GetInt(absl::string_view name, int64_t fallback = 0) const;
  double GetFloat(absl::string_view name, double fallback = 0) const;
  std::string GetString(absl::string_view name, absl::string_view fallback = "") const;
  std::vector<int64_t> GetInts(absl::string_view name) const;
  std::vector<double> GetFloats(absl::string_view name) const;
  DType GetDType(absl::string_view name, DType fallback = DType::kInvalid) const;
  // The blocks that the op's attributes refer to, in attribute order.
  std::vector<int> SubBlocks() const { return may_have_blocks_ ? FindSubBlocks() : std::vector<int>(); }
  // As many operands and results in each slot; both ops have the same record.
  bool HasSameSlots(const Op& other) const { return ends_ == other.ends_; }

  OpMarks marks;
  int line = 0;                         // in the text it was parsed from, 0 for none
  int origin = -1;                      // index into the FormatOrigin of its block's ops, -1 for an op that no file had
  const OpDef* lowered_from = nullptr;  // of the op of another dialect that this one computes, or a part of it

 private:
  // Slots of operands, then slots of results.
  int num_input_slots() const { return static_cast<int>(def_->inputs.size()); }
  absl::Span<Var* const> Slot(int s) const {
    const int begin = s == 0 ? 0 : ends_[s - 1];
    return absl::MakeConstSpan(begin_ + begin, ends_[s] - begin);
  }
  // The slot of [first, last) that has the operand or result at `at`, counted from `first`.
  int SlotOf(int at, int first, int last) const {
    for (int s = first; s < last; ++s) {
      if (at < ends_[s]) return s - first;
    }
    return -1;
  }
  void SetSlot(int s, absl::Span<Var* const> vars);
  std::vector<int> FindSubBlocks() const;

  Block* block_;
  const OpDef* def_;
  absl::InlinedVector<Var*, 4> vars_;  // operands, then results
  Var** begin_ = nullptr;              // of vars_; with the numbers below, what nearly every question needs
  int num_inputs_ = 0, num_outputs_ = 0;
  absl::InlinedVector<int32_t, 4> ends_;  // ends_[s]: one past the last of vars_ in slot s
  std::vector<Attr> attrs_;
  int id_;
  bool may_have_blocks_ = false;  // an attribute refers, or referred, to a block
};

// `op 'conv2d' -> 'y'` with the line where it is known: how every message names an op. An op that was lowered bears its operator's name.
std::string Describe(const Op& op);

}  // namespace ampc
