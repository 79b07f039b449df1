// A model's local functions on their way to a later operator set. The model's set has to have the same versions of the operators in their
// bodies.
//
//   function my.f(a) -> b {                               function my.f(a) -> b {
//     opset 17                                              opset 22
//     b = ReduceMean(a) axes=[2, 3]            ->           b.operand = Constant() value=i64[2]{2, 3}
//   }                                                       b = ReduceMean(a, b.operand)
//                                                         }
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "graph/formats/onnx/messages.h"
#include "graph/op.h"
#include "graph/weight.h"

namespace ampc::onnx {

class FunctionUpgrader {
 public:
  // `file`: the model's bytes.
  FunctionUpgrader(int opset, std::shared_ptr<const WeightSource> file) : opset_(opset), file_(std::move(file)) {}

  // The FunctionProto with its nodes as the operator set has them, and that set; as it is where it has a later one. Nothing where a node
  // has no conversion: what a step needs to know of types, and of attributes that calls give, nobody knows in a function.
  std::optional<std::string> Upgrade(absl::string_view function);
  // Then: the function and the node.
  const std::string& failed() const { return failed_; }

 private:
  void CollectNames(absl::string_view node);
  // The fields of a node, and of the constants that it needs in front of it, under the number `field`; false where there is no conversion.
  bool UpgradeNode(absl::string_view bytes, int field, std::string* out);
  void AppendOperands(const Op& op, int field, std::string* text, std::string* nodes);
  bool UpgradeGraphs(absl::string_view bytes, std::string* out);
  std::string NewName(const std::string& name);
  bool Fail(const NodeView& node);

  const int opset_;
  const std::shared_ptr<const WeightSource> file_;
  int from_ = 0;
  absl::flat_hash_set<std::string> names_;  // of values, in whatever graph of the function
  std::string failed_;
};

}  // namespace ampc::onnx
