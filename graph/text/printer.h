// Printer of program text; the format is described in parser.h.
//
// Deterministic. In the full form ParseProgram(PrintProgram(p)) is the same program as p (SameProgram), and printing that
// again gives the same text. Declarations stand first, then the ops, then the fetches; attributes are sorted by name, and those
// equal to the record's default are left out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/program.h"
#include "graph/weight.h"

namespace ampc {

struct PrintOptions {
  bool bare = false;   // the main block without `program` and `block main {`
  bool brief = false;  // literals above 8 elements as a hash; such text does not parse
  bool loc = false;    // `# line 12` behind every op whose line is known
  // By Var::id, what is printed for the weights; null for those that the variables have.
  const std::vector<std::unique_ptr<WeightRef>>* weights = nullptr;
  std::string directory;  // weight files below it print relative to it; ParseOptions::directory
};

std::string PrintProgram(const Program& program, const PrintOptions& options = {});
// One op as its line in the program, without indentation and newline.
std::string PrintOp(const Op& op);
// A type with the names of the program's symbols.
std::string PrintType(const TensorType& type, const Program& program);

}  // namespace ampc
