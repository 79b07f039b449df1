#include "passes/parallel/bucket_gradients.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/op_registry.h"
#include "graph/ops/packing.h"
#include "passes/append_op.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

constexpr int64_t kDefaultBytes = int64_t{25} << 20;

int64_t BytesOf(const Var& var) {
  int64_t elements = 1;
  for (const int64_t dim : var.type.dims) elements *= std::max<int64_t>(dim, 0);
  return elements * static_cast<int64_t>(sizeof(float));
}

// The elements of the buffer for the values; unknown where theirs are.
int64_t RoomFor(const std::vector<Var*>& values) {
  int64_t room = 0;
  for (const Var* value : values) {
    if (!value->type.IsStatic()) return kUnknownDim;
    int64_t elements = 1;
    for (const int64_t dim : value->type.dims) elements *= dim;
    room += PackedElements(elements);
  }
  return room;
}

struct Bucket {
  std::vector<int> operands;  // positions in X
  int last = -1;              // the op behind which it starts; -1: before the first
};

class Bucketer {
 public:
  Bucketer(Block& block, int64_t bytes, int64_t* next) : block_(block), bytes_(bytes), next_(*next) {}

  bool Run() {
    std::vector<std::unique_ptr<Op>> ops = block_.TakeOps();
    starts_.resize(ops.size() + 1);
    std::vector<std::vector<std::unique_ptr<Op>>> finishes(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i]->type() == "c_allreduce_sum") finishes[i] = Split(*ops[i]);
      for (const Var* var : ops[i]->outputs()) written_[var] = static_cast<int>(i);
    }
    std::vector<std::unique_ptr<Op>> out;
    out.reserve(ops.size());
    bool changed = false;
    const auto append = [&out](std::vector<std::unique_ptr<Op>>& more) {
      for (std::unique_ptr<Op>& op : more) out.push_back(std::move(op));
    };
    append(starts_[0]);
    for (size_t i = 0; i < ops.size(); ++i) {
      changed = changed || !finishes[i].empty();
      finishes[i].empty() ? out.push_back(std::move(ops[i])) : append(finishes[i]);
      append(starts_[i + 1]);
    }
    block_.SetOps(std::move(out));
    return changed;
  }

 private:
  std::vector<Bucket> BucketsOf(const Op& op) const {
    std::vector<std::pair<int, int>> order;  // {position of the last write, operand}
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const auto at = written_.find(op.inputs()[i]);
      order.emplace_back(at == written_.end() ? -1 : at->second, i);
    }
    std::sort(order.begin(), order.end());
    std::vector<Bucket> buckets;
    int64_t bytes = bytes_;
    for (const auto& [position, operand] : order) {
      if (bytes >= bytes_) {
        buckets.emplace_back();
        bytes = 0;
      }
      buckets.back().operands.push_back(operand);
      buckets.back().last = position;
      bytes += BytesOf(*op.inputs()[operand]);
    }
    return buckets;
  }

  // Puts the starts where they belong; the finishes.
  std::vector<std::unique_ptr<Op>> Split(const Op& op) {
    std::vector<std::unique_ptr<Op>> finishes;
    for (const Bucket& bucket : BucketsOf(op)) {
      std::vector<Var*> from, to;
      for (const int i : bucket.operands) {
        from.push_back(op.inputs()[i]);
        to.push_back(op.outputs()[i]);
      }
      Var* pack = NewTemp(block_, "gradients.pack");
      pack->type = TensorType(DType::kF32, {RoomFor(from)});
      std::unique_ptr<Op> start = NewOp(op, "c_allreduce_start", from);
      start->SetOutputs(0, {&pack, 1});
      std::unique_ptr<Op> finish = NewOp(op, "c_allreduce_finish", from);
      finish->SetInputs(finish->def().InputSlot("Pack"), {&pack, 1});
      finish->SetOutputs(0, to);
      if (op.GetBool("average")) finish->SetAttr("average", true);
      ++next_;
      starts_[bucket.last + 1].push_back(std::move(start));
      finishes.push_back(std::move(finish));
    }
    return finishes;
  }

  std::unique_ptr<Op> NewOp(const Op& like, absl::string_view type, const std::vector<Var*>& from) {
    std::unique_ptr<Op> op = block_.NewOp(Ops().Find(type));
    op->SetInputs(op->def().InputSlot("X"), from);
    if (next_ != 0) op->SetAttr("bucket", static_cast<int32_t>(next_));
    if (RoleOf(like) != kRoleForward) op->SetAttr("op_role", RoleOf(like));
    op->line = like.line;
    return op;
  }

  Block& block_;
  const int64_t bytes_;
  int64_t& next_;                                         // number of the next bucket
  absl::flat_hash_map<const Var*, int> written_;          // position of the last write so far
  std::vector<std::vector<std::unique_ptr<Op>>> starts_;  // [i + 1]: behind op i
};

absl::StatusOr<bool> BucketGradients(int64_t bytes, Program& program) {
  for (const char* type : {"c_allreduce_start", "c_allreduce_finish"}) {
    if (Ops().Find(type) == nullptr) return InternalError(absl::StrCat("there is no record of '", type, "'"));
  }
  int64_t next = 0;
  bool changed = false;
  for (int b = 0; b < program.num_blocks(); ++b) changed |= Bucketer(program.block(b), bytes, &next).Run();
  return changed;
}

}  // namespace

PassInfo BucketGradientsPass() {
  PassInfo info;
  info.name = "bucket-gradients";
  info.summary = "exchanges between processes start while gradients are still computed";
  info.options = {{"bytes", "of f32 values that travel together, at least; 25 MiB by default"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    int64_t bytes = kDefaultBytes;
    const auto it = options.find("bytes");
    if (it != options.end() && (!absl::SimpleAtoi(it->second, &bytes) || bytes <= 0)) {
      return UsageError(absl::StrCat("option bytes is '", it->second, "', needs a positive number"));
    }
    return MakePass([bytes](PassContext&, Program& program) { return BucketGradients(bytes, program); });
  };
  return info;
}

}  // namespace ampc
