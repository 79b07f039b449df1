#include "tests/onnx/unpacked.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "graph/op_registry.h"

namespace ampc::testing {
namespace {

bool IsSequence(const Var& var) { return var.type.kind == TypeKind::kTensorArray; }

Op& Append(Block& block, const char* type, std::vector<Var*> operands, Var* result) {
  std::unique_ptr<Op> op = block.NewOp(Ops().Find(type));
  for (size_t i = 0; i < operands.size(); ++i) op->SetInputs(static_cast<int>(i), absl::MakeSpan(&operands[i], 1));
  op->SetOutputs(0, absl::MakeSpan(&result, 1));
  return *block.Append(std::move(op));
}

// The feed `var` of `n` elements is made of feeds.
void Pack(Var* var, int n, Block& block, std::vector<Var*>* feeds) {
  std::vector<Var*> elements;
  for (int i = 0; i < n; ++i) {
    elements.push_back(
        block.AddVar(block.UniqueName(var->name() + "." + std::to_string(i)), VarKind::kFeed, TensorType::Unranked(var->type.dtype)));
  }
  feeds->insert(feeds->end(), elements.begin(), elements.end());
  var->kind = VarKind::kTemp;
  Op& op = Append(block, "sequence_construct", {}, var);
  op.SetInputs(0, elements);
  op.SetAttr("dtype", var->type.dtype);
}

void Unpack(Var* var, int n, Block& block, std::vector<Var*>* fetches) {
  Var* const length = block.AddVar(block.UniqueName(var->name() + ".length"), VarKind::kTemp, TensorType(DType::kI64, {1}));
  Append(block, "lod_array_length", {var}, length);
  fetches->push_back(length);
  for (int i = 0; i < n; ++i) {
    Var* const at = block.AddVar(block.UniqueName("at"), VarKind::kConst, TensorType(DType::kI64, {1}));
    at->literal = std::make_shared<const HostTensor>(HostTensor::Of<int64_t>({1}, {i}));
    Var* const element =
        block.AddVar(block.UniqueName(var->name() + "." + std::to_string(i)), VarKind::kTemp, TensorType::Unranked(var->type.dtype));
    Append(block, "sequence_at", {var, at}, element);
    fetches->push_back(element);
  }
}

}  // namespace

void UnpackSequences(const std::vector<int>& feeds, const std::vector<int>& fetches, Program& program) {
  Block& main = program.main();
  std::vector<std::unique_ptr<Op>> own = main.TakeOps();
  std::vector<Var*> fed, fetched;
  for (size_t i = 0; i < program.feeds.size(); ++i) {
    if (IsSequence(*program.feeds[i])) {
      Pack(program.feeds[i], feeds[i], main, &fed);
    } else {
      fed.push_back(program.feeds[i]);
    }
  }
  for (std::unique_ptr<Op>& op : own) main.Append(std::move(op));
  for (size_t i = 0; i < program.fetches.size(); ++i) {
    if (IsSequence(*program.fetches[i])) {
      Unpack(program.fetches[i], fetches[i], main, &fetched);
    } else {
      fetched.push_back(program.fetches[i]);
    }
  }
  program.feeds = std::move(fed);
  program.fetches = std::move(fetched);
}

}  // namespace ampc::testing
