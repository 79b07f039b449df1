#include "tools/picture/repeats.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ampc {
namespace {

// The best run that begins at each token of [begin, end); period 0 for none.
void BestRuns(absl::Span<const uint64_t> tokens, int begin, int end, int max_period, int min_cover, std::vector<Repeat>* best) {
  const int longest = std::min(max_period, (end - begin) / 2);
  for (int period = 1; period <= longest; ++period) {
    int run = 0;  // tokens from i on that equal the one a period later
    for (int i = end - period - 1; i >= begin; --i) {
      run = tokens[i] == tokens[i + period] ? run + 1 : 0;
      if (run < period) continue;
      const int count = 1 + run / period;
      Repeat& known = (*best)[i];
      if (count * period >= min_cover && count * period > known.count * known.period) known = {i, period, count};
    }
  }
}

// Picks runs in [begin, end) that do not overlap, the largest first. True when there are any.
bool Pick(absl::Span<const int> cut, int begin, int end, const std::vector<Repeat>& best, std::vector<bool>* used,
          std::vector<Repeat>* picked) {
  std::vector<Repeat> candidates;
  for (int i = begin; i < end; ++i) {
    if (best[i].period > 0) candidates.push_back(best[i]);
  }
  std::sort(candidates.begin(), candidates.end(), [&cut](const Repeat& a, const Repeat& b) {
    return std::make_tuple(-a.period * a.count, cut[a.first], a.first) < std::make_tuple(-b.period * b.count, cut[b.first], b.first);
  });
  for (const Repeat& repeat : candidates) {
    // Runs that were picked before are at least as long, so an overlap includes one of the ends.
    if ((*used)[repeat.first] || (*used)[repeat.end() - 1]) continue;
    std::fill(used->begin() + repeat.first, used->begin() + repeat.end(), true);
    picked->push_back(repeat);
  }
  return !candidates.empty();
}

}  // namespace

std::vector<Repeat> FindRepeats(absl::Span<const uint64_t> tokens, absl::Span<const int> cut, int max_period, int min_cover) {
  constexpr int kRounds = 4;  // what a run of the round before cut off is looked at again
  const int n = static_cast<int>(tokens.size());
  std::vector<Repeat> picked;
  std::vector<bool> used(n, false);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Repeat> best(n);
    bool any = false;
    for (int begin = 0; begin < n;) {
      int end = begin;
      while (end < n && !used[end]) ++end;
      BestRuns(tokens, begin, end, max_period, min_cover, &best);
      const int next = end + 1;
      any = Pick(cut, begin, end, best, &used, &picked) || any;
      begin = next;
    }
    if (!any) break;
  }
  std::sort(picked.begin(), picked.end(), [](const Repeat& a, const Repeat& b) { return a.first < b.first; });
  return picked;
}

}  // namespace ampc
