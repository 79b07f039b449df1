// ampc: the command line. Parses, runs one verb, turns its status into one sentence and an exit code.
#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "tools/cli/command.h"

namespace ampc {

#define AMPC_COMMAND(Verb) Command Verb##Command();
#include "tools/all_commands.inc"
#undef AMPC_COMMAND

namespace {

constexpr char kVersion[] = "ampc 0.1.0";

std::vector<Command> AllCommands() {
  return {
#define AMPC_COMMAND(Verb) Verb##Command(),
#include "tools/all_commands.inc"
#undef AMPC_COMMAND
  };
}

// Verbs of the design that this version does not contain.
const std::vector<std::string> kLaterVerbs = {"bench", "explain", "train", "tune"};

int Fail(Console& console, absl::string_view verb, const absl::Status& status) {
  console.Note(absl::StrCat("ampc", verb.empty() ? "" : " ", verb, ": ", status.message()));
  return static_cast<int>(ExitCodeOf(status));
}

int ParseFailure(Console& console, const CLI::App& app, const std::vector<Command>& commands, int argc, char** argv, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  const std::string verb = argc > 1 ? argv[1] : "";
  if (std::find(kLaterVerbs.begin(), kLaterVerbs.end(), verb) != kLaterVerbs.end()) {
    return Fail(console, verb, NotSupportedYet("this verb", "see ampc --help for those that are"));
  }
  std::vector<std::string> names;
  for (const Command& c : commands) names.push_back(c.name);
  const bool known = std::find(names.begin(), names.end(), verb) != names.end();
  if (!verb.empty() && !known && verb[0] != '-') {
    return Fail(console, "", UsageError(absl::StrCat("there is no verb '", verb, "'", Suggest(verb, names), "; ampc --help lists them")));
  }
  return Fail(console, known ? verb : "", UsageError(absl::StrCat(error.what(), " (see ampc ", known ? verb + " " : "", "--help)")));
}

int Main(int argc, char** argv) {
  Console console;
  CLI::App app("ampc compiles trained models to mixed precision (fp16, bf16) and runs them.\n", "ampc");
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  const std::vector<Command> commands = AllCommands();
  std::vector<std::pair<CLI::App*, Action>> verbs;
  for (const Command& command : commands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->footer(absl::StrCat("Examples:\n", command.examples));
    sub->get_formatter()->column_width(36);
    verbs.emplace_back(sub, command.setup(*sub));
  }
  app.footer("Exit codes: 0 done; 1 the answer is no; 2 usage; 3 absent or bad input; 4 not supported; 5 internal or a failed write.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ParseFailure(console, app, commands, argc, argv, error);
  }
  for (const auto& [sub, action] : verbs) {
    if (!sub->parsed()) continue;
    const absl::Status status = action(console);
    if (!status.ok()) return Fail(console, sub->get_name(), status);
    if (!console.ok()) return Fail(console, sub->get_name(), IoError("writing to standard output failed"));
  }
  return 0;
}

}  // namespace
}  // namespace ampc

int main(int argc, char** argv) { return ampc::Main(argc, argv); }
