#include "tests/onnx/hidden.h"

#include <memory>
#include <utility>
#include <vector>

#include "graph/ops/onnx/dialect.h"

namespace ampc::testing {
namespace {

class Hider {
 public:
  explicit Hider(Program& program) : program_(program), main_(program.main()), ops_(main_.TakeOps()) {
    flag_ = main_.AddVar(kHidingFeed, VarKind::kFeed, TensorType(DType::kBool, {1}));
  }

  void Run(Hide what) {
    std::vector<std::pair<Var*, Var*>> hidden;
    for (Var* feed : program_.feeds) {
      if (feed->type.kind != TypeKind::kTensor) continue;
      if (what == Hide::kRanks) hidden.emplace_back(feed, BehindIf(feed));
      if (what == Hide::kDims && feed->type.has_rank && feed->type.rank() > 0 && feed->type.dtype != DType::kBF16)
        hidden.emplace_back(feed, BehindCompress(feed));
    }
    program_.feeds.push_back(flag_);
    std::vector<std::unique_ptr<Op>> ops = main_.TakeOps();
    for (std::unique_ptr<Op>& op : ops_) ops.push_back(std::move(op));
    const size_t made = ops.size() - ops_.size();
    main_.SetOps(std::move(ops));
    for (const auto& [from, to] : hidden) {
      for (size_t i = made; i < main_.ops().size(); ++i) Replace(*main_.ops()[i], from, to);
    }
  }

 private:
  Var* Temp(const Var& like) {
    return main_.AddVar(main_.UniqueName("hidden." + like.name()), VarKind::kTemp, TensorType::Unranked(like.type.dtype));
  }
  Op& Append(Block& block, const char* type, std::vector<Var*> operands, std::vector<Var*> results) {
    std::unique_ptr<Op> op = block.NewOp(onnx::FindOp(type));
    for (size_t i = 0; i < operands.size(); ++i) op->SetInputs(static_cast<int>(i), {&operands[i], 1});
    for (size_t i = 0; i < results.size(); ++i) op->SetOutputs(static_cast<int>(i), {&results[i], 1});
    return *block.Append(std::move(op));
  }

  //   hidden = x, or a dim more, by the flag
  Var* BehindIf(Var* x) {
    Var* const result = Temp(*x);
    std::unique_ptr<Op> op = main_.NewOp(onnx::FindOp("onnx.If.16"));
    op->SetInputs(0, {&flag_, 1});
    op->SetInputs(1, {&x, 1});
    op->SetOutputs(0, {&result, 1});
    for (const char* branch : {"then_branch", "else_branch"}) {
      Block& block = program_.AddBlock(0, "hidden" + std::to_string(program_.num_blocks()));
      Var* yielded = x;
      if (branch[0] == 'e') {
        Var* const axes = block.AddVar(block.UniqueName("axes"), VarKind::kConst, TensorType(DType::kI64, {1}));
        axes->literal = std::make_shared<const HostTensor>(HostTensor::Of<int64_t>({1}, {0}));
        yielded = block.AddVar(block.UniqueName("more"), VarKind::kTemp, TensorType::Unranked(x->type.dtype));
        Append(block, "onnx.Unsqueeze.13", {x, axes}, {yielded});
      }
      Append(block, "onnx.yield", {yielded}, {});
      op->SetAttr(branch, BlockRef{block.index()});
    }
    main_.Append(std::move(op));
    return result;
  }

  //   hidden = the rows of x that the flag, for each of them, keeps
  Var* BehindCompress(Var* x) {
    Var *const rows = main_.AddVar(main_.UniqueName("rows"), VarKind::kTemp, TensorType::Unranked(DType::kI64)), *const keep = Temp(*flag_),
               *const result = Temp(*x);
    Append(main_, "onnx.Shape.15", {x}, {rows}).SetAttr("end", int64_t{1});
    Append(main_, "onnx.Expand.13", {flag_, rows}, {keep});
    Append(main_, "onnx.Compress.11", {x, keep}, {result}).SetAttr("axis", int64_t{0});
    return result;
  }

  void Replace(Op& op, const Var* from, Var* to) {
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      if (op.inputs()[i] == from) op.ReplaceInput(static_cast<int>(i), to);
    }
    for (const int block : op.SubBlocks()) {
      for (const std::unique_ptr<Op>& inner : program_.block(block).ops()) Replace(*inner, from, to);
    }
  }

  Program& program_;
  Block& main_;
  std::vector<std::unique_ptr<Op>> ops_;
  Var* flag_ = nullptr;
};

// The declared types of results are no secret to keep.
void ForgetResults(Program& program) {
  for (const std::unique_ptr<Op>& op : program.main().ops()) {
    for (Var* var : op->outputs()) {
      if (var->type.kind == TypeKind::kTensor) var->type = TensorType::Unranked(var->type.dtype);
    }
  }
}

}  // namespace

void HideFeeds(Hide what, Program& program) {
  ForgetResults(program);
  Hider(program).Run(what);
}

}  // namespace ampc::testing
