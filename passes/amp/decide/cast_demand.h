// CastDemand: who reads each float32 value of a program, and as what: where casts come to be once ops are low.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/program.h"
#include "passes/amp/decide/cast_roots.h"
#include "passes/amp/decide/decision.h"

namespace ampc {

enum class ReadsAs : uint8_t { kLow, kFp32, kAsItsOp };

struct ReaderOfValue {
  const Op* op = nullptr;  // null: the caller, of a fetch
  ReadsAs as = ReadsAs::kFp32;
};

// The readers of a value in one block, which share its casts.
struct ReadersInBlock {
  const Var* value = nullptr;  // no weight or literal: these are stored in each type that is read
  const Op* maker = nullptr;   // the value is low where this op is; null: it is float32, or a feed
  int block = 0;               // its index
  int first = 0, count = 0;    // of CastDemand::readers()
};

// A value that is no temp and that an op overwrites: low results are cast to its type.
struct FixedResult {
  const Op* op = nullptr;
  const Var* value = nullptr;
};

// Of a program as it is decided, not yet rewritten; `decision` says what is decided of slots and which ops are untouched, and `fetch_as`
// how a fetched temp is read: kAsItsOp where it stays what it is.
class CastDemand {
 public:
  CastDemand(const Program& program, const AmpDecision& decision, absl::FunctionRef<ReadsAs(const Var& fetch)> fetch_as);

  absl::Span<const ReadersInBlock> values() const { return values_; }
  absl::Span<const ReaderOfValue> ReadersOf(const ReadersInBlock& value) const {
    return absl::MakeConstSpan(readers_).subspan(value.first, value.count);
  }
  absl::Span<const FixedResult> fixed_results() const { return fixed_results_; }

 private:
  std::vector<ReaderOfValue> readers_;
  std::vector<ReadersInBlock> values_;
  std::vector<FixedResult> fixed_results_;
};

}  // namespace ampc
