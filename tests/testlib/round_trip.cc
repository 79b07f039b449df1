#include "tests/testlib/round_trip.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/text/parser.h"
#include "graph/text/printer.h"
#include "tests/testlib/no_in_lines.h"

namespace ampc::testing {

absl::Status CheckRoundTrip(const Program& program) {
  const std::string text = PrintProgram(program);
  absl::StatusOr<Program> again = ParseProgram(text);
  if (!again.ok()) return NoInLines(absl::StrCat("printed text does not parse: ", again.status().message(), "\n", text));
  std::string why;
  if (!SameProgram(program, *again, &why)) return NoInLines(absl::StrCat("printed text parses to another program: ", why, "\n", text));
  if (Fingerprint(program) != Fingerprint(*again))
    return NoInLines(absl::StrCat("printed text parses to a program with another fingerprint\n", text));
  const std::string second = PrintProgram(*again);
  if (second != text) return NoInLines(absl::StrCat("printing twice gives two texts:\n", text, "\nand\n", second));
  return absl::OkStatus();
}

}  // namespace ampc::testing
