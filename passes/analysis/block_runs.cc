#include "passes/analysis/block_runs.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/base/host_values.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc {
namespace {

// A loop with a condition of its own may have the largest integer as its number of trips.
constexpr int64_t kMostTrips = 1'000'000;

double Trips(int64_t count) { return count >= 0 && count <= kMostTrips ? static_cast<double>(count) : kUnknownTrips; }

double TripsOf(const Op& op, absl::string_view type) {
  if (type == "Loop" && !op.inputs().empty()) {
    const Var* most = op.inputs()[0];
    if (op.InputSlotOf(0) != 0 || most->literal == nullptr || most->literal->num_elements() != 1) return kUnknownTrips;
    const auto count = IntegersOf(*most->literal);
    return count.has_value() ? Trips((*count)[0]) : kUnknownTrips;
  }
  if (type == "Scan") {  // the last operand that is no capture is scanned, as a rule along its first axis
    int last = static_cast<int>(op.inputs().size()) - 1;
    while (last >= 0 && op.def().inputs[op.InputSlotOf(last)].name == onnx::kCaptures) --last;
    if (last < 0) return kUnknownTrips;
    const TensorType& rows = op.inputs()[last]->type;
    return rows.has_rank && rows.rank() > 0 && IsKnown(rows.dims[0]) ? Trips(rows.dims[0]) : kUnknownTrips;
  }
  return kUnknownTrips;
}

}  // namespace

std::vector<double> BlockRuns(const Program& program) {
  std::vector<double> runs(program.num_blocks(), 1);
  std::vector<const Block*> open = {&program.main()};
  while (!open.empty()) {
    const Block& block = *open.back();
    open.pop_back();
    for (const auto& op : block.ops()) {
      const auto& blocks = op->SubBlocks();
      if (blocks.empty()) continue;
      const absl::string_view type = onnx::TypeName(op->def());
      const bool repeats = type == "while" || type == "Loop" || type == "Scan" || type == "SequenceMap";
      const double each = repeats ? TripsOf(*op, type) : 1.0 / static_cast<double>(std::max<size_t>(blocks.size(), 2));
      for (const int inner : blocks) {
        runs[inner] = runs[block.index()] * each;
        open.push_back(&program.block(inner));
      }
    }
  }
  return runs;
}

}  // namespace ampc
