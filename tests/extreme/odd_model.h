// Small models of one op whose attributes and operands have values that nobody expects.
//
// They follow from the records: each op that has one (graph/op_registry.h, graph/ops/onnx/dialect.h) gets plausible operands by the names
// of its slots, or by a line of recipes.inc where names do not say enough, and then some changes: extreme numbers, lists of another length,
// empty dims, other ranks and types. So a new op is tried as soon as it has a record.
#pragma once

#include <string>
#include <vector>

#include "graph/attr.h"
#include "graph/base/host_tensor.h"
#include "graph/op_def.h"
#include "graph/ops/onnx/schema.h"
#include "runtime/tensor_map.h"
#include "tests/extreme/choices.h"

namespace ampc::extreme {

struct Operand {
  HostTensor value;
  bool given = true;      // false: left out
  bool constant = false;  // else a feed
  int open = 0;           // of a feed: 0 its dims are declared, 1 each is unknown, 2 the rank is, too
};

struct OddModel {
  const OpDef* def = nullptr;
  const onnx::Schema* schema = nullptr;     // of an ONNX operator, which makes an .onnx file; else the model is program text
  std::vector<std::vector<Operand>> slots;  // operands, in the order of the record's
  std::vector<Attr> attrs;
  bool all_results = false;          // the optional ones, too
  std::vector<std::string> changes;  // what was done to it, for people
};

// Every version of every op that can be executed by itself: no control flow, no subgraphs, no collective ops.
std::vector<const OpDef*> TriedOps();

// With `changes` odd things about it; without any it should be accepted, and run.
OddModel MakeModel(const OpDef& def, int changes, Choices& choices);
// The same of a model that somebody else made.
void Change(int changes, Choices& choices, OddModel* model);

// The file's content. Operands are called a, b, ... by slot, their variadic ones a0, a1, ...; results r, r1, ...
std::string FileOf(const OddModel& model);
const char* ExtensionOf(const OddModel& model);  // ".onnx", ".prog"
TensorMap FeedsOf(const OddModel& model);
// One line for people: what was changed, and the op.
std::string Describe(const OddModel& model);

}  // namespace ampc::extreme
