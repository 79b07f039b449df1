// The operator sets 1 to 6: every operator that the standard has there is known, or is one of those that tools/docs/onnx.md says are not
// executed. That each runs,
// //tests/extreme holds; what it computes where that differs from later sets, ops/old_sets.case.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/op_registry.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/schema.h"

namespace ampc::onnx {
namespace {

// Operators without a record of their own.
const std::map<absl::string_view, absl::string_view>& Others() {
  static const auto* const kOthers = new std::map<absl::string_view, absl::string_view>{
      {"Cast", "is the native op"},
      {"Constant", "is a value"},
  };
  return *kOthers;
}

TEST(OldSets, EveryOperatorIsKnown) {
  EXPECT_NE(Ops().Find("cast"), nullptr);
  for (int set = 1; set <= 6; ++set) {
    int known = 0;
    for (const Schema& schema : Schemas()) {
      if (FindSchema(schema.type, set) != &schema || !DomainOf(schema.type).empty()) continue;
      SCOPED_TRACE(schema.type + " of operator set " + std::to_string(set));
      const OpDef* def = FindOp(schema.type, set);
      EXPECT_EQ(def == nullptr, Others().contains(schema.type));
      if (def == nullptr) continue;
      ++known;
      const OnnxDef* onnx = DefOf(*def);
      ASSERT_NE(onnx, nullptr);
      const bool control = def->InputSlot(kCaptures) >= 0;
      EXPECT_TRUE(control || onnx->op->same || onnx->op->lower != nullptr);
    }
    EXPECT_GE(known, 85) << "of operator set " << set;
  }
}

}  // namespace
}  // namespace ampc::onnx
