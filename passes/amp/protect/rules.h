// The rules of protect: what keeps an op fp32, and why. The order of the rows is their precedence: of several rules that an op falls under,
// the first says why it stays fp32.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ampc {

class Visit;
class BackwardVisit;

enum class Direction : uint8_t {
  kHere,     // the op itself and what it reads say all
  kReaders,  // from what starts it to the ops that read its result, and so on
  kMakers,   // from what starts it to the ops that make its operands, and so on
  kCycle,    // the ops of a cycle
};

// The effect of a rule at an op.
enum class Effect : uint8_t { kNone, kStarts, kPasses, kEnds };

struct Rule {
  absl::string_view id;      // "protect.range"
  absl::string_view reason;  // unless an op has a text of its own
  Direction direction;
  // In words, for the list in the documents.
  absl::string_view starts, passes, ends;
  // Ops that follow their operands (moves, and at O1 most others) follow the results of a marked op. Not where these are made from no data.
  bool followers;
  // Of Fact: what spreads where that is a trait; it starts where a result has it that no operand has.
  uint16_t trait = 0;
  // One of them: what the rule finds at an op. Null for a cycle.
  Effect (*forward)(Visit&) = nullptr;
  Effect (*backward)(BackwardVisit&) = nullptr;
};

inline constexpr absl::string_view kProtectPrefix = "protect.";
inline constexpr absl::string_view kLogRule = "protect.log";
inline constexpr absl::string_view kMeasuredRule = "protect.measured";

absl::Span<const Rule> ProtectRules();
const Rule* FindRule(absl::string_view id);  // null for none

// The text of a mark, "<id>: <text>". A mark of a file has nothing else.
std::string MarkText(const Rule& rule, absl::string_view text);
// Some version of this table wrote it.
bool IsProtectMark(absl::string_view mark);
// The row that wrote a mark, and what stands behind its id; null for a mark that none of them wrote.
const Rule* RuleOfMark(absl::string_view mark, absl::string_view* text);

}  // namespace ampc
