// Var: a named, typed value of a block.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "graph/type.h"
#include "graph/weight.h"

namespace ampc {

class Block;

enum class VarKind : uint8_t {
  kFeed,   // given per run
  kParam,  // trained or loaded
  kState,  // kept between runs: statistics, loss scale, counters, moments, master weights
  kConst,  // literal
  kTemp,   // defined by exactly one op
  kCarry,  // written several times by the ops of control flow: loop state, results of branches
};
absl::string_view Name(VarKind kind);  // "feed", "param", ...

class Var;

// An entry of a program's table of names. Names stay in the table, and their strings where they are.
struct NameUse {
  Var* var = nullptr;  // what has the name now; where variables of several blocks do, the first that did
  int next = 1;        // the next suffix to try for another name that begins like this one
};
using NameEntry = std::pair<const std::string, NameUse>;

class Var {
 public:
  Var(Block* block, int id, NameEntry* name, VarKind kind, TensorType type)
      : type(std::move(type)), kind(kind), block_(block), name_(name), id_(id) {}
  Var(const Var&) = delete;

  int id() const { return id_; }
  const std::string& name() const { return name_->first; }
  Block& block() const { return *block_; }

  TensorType type;
  VarKind kind;
  bool stop_gradient = false;
  bool trainable = false;  // param: an optimizer may update it
  // Data type before AMP retyped it; kInvalid where AMP did not. Part of the text, needed to strip.
  DType was = DType::kInvalid;
  int origin = -1;  // index into the FormatOrigin, -1 for none
  // The name in the file it came from, where the IR had to give another one (a version of an overwritten temporary).
  std::string export_name;
  const std::string& exported() const { return export_name.empty() ? name() : export_name; }
  // A param's or state's stored value, null when the program travels without weights.
  std::unique_ptr<WeightRef> weight;
  // A const's literal.
  std::shared_ptr<const HostTensor> literal;

  bool IsWritable() const { return kind == VarKind::kParam || kind == VarKind::kState || kind == VarKind::kCarry; }

 private:
  friend class Block;
  Block* block_;
  NameEntry* name_;
  int id_;
};

}  // namespace ampc
