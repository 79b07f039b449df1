// The ops of PIR's dialect `pd_op` and what they are in Paddle 2, whose ops are the IR's native ones: op_table.inc as rows.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ampc::pir {

struct OperandRow {
  std::string attr;       // the attribute that a constant operand is; "" for none
  std::string slot;       // takes a tensor; "" for none
  std::string list_slot;  // takes a list of tensors; "" for the same as `slot`
  bool ignored = false;   // without meaning for an inference
};

struct AttrRow {
  std::string name;       // PIR's
  std::string attr;       // Paddle 2's
  char kind = 0;          // a letter of op_table.inc
  bool required = false;  // no default
  std::string value;      // the default as C++ writes it: true, 0.5, {1,1}, "NCHW"
};

struct OpRow {
  std::string name;    // without dialect: "matmul"
  std::string native;  // "matmul_v2"
  std::vector<OperandRow> operands;
  std::vector<AttrRow> attrs;
  std::vector<std::string> results;
  bool named = true;  // Paddle 2 has the op with these slots

  const AttrRow* FindAttr(absl::string_view attr) const;  // by PIR's name; null for none
};

// The row of pd_op.`name`; null for none. Thread-safe.
const OpRow* FindRow(absl::string_view name);
// All of them, by name.
const std::vector<OpRow>& AllRows();

}  // namespace ampc::pir
