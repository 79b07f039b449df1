#include "runtime/plan/op_range.h"

namespace ampc {

OpRange WholeRange(const Program& program) {
  OpRange range;
  range.block = &program.main();
  range.end = static_cast<int>(program.main().ops().size());
  range.feeds.assign(program.feeds.begin(), program.feeds.end());
  range.fetches.assign(program.fetches.begin(), program.fetches.end());
  return range;
}

}  // namespace ampc
