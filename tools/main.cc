// ampc: the command line. Parses, runs one verb, turns its status into one sentence and an exit code.
#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "runtime/convert/options.h"
#include "tools/cli/command.h"
#include "tools/cli/help.h"
#include "tools/cli/peer_options.h"
#include "tools/cli/uncaught.h"
#include "tools/cli/version.h"

namespace ampc {

#define AMPC_COMMAND(Verb) Command Verb##Command();
#include "tools/all_commands.inc"
#undef AMPC_COMMAND

namespace {

std::vector<Command> AllCommands() {
  return {
#define AMPC_COMMAND(Verb) Verb##Command(),
#include "tools/all_commands.inc"
#undef AMPC_COMMAND
  };
}

int Fail(Console& console, absl::string_view verb, const absl::Status& status) {
  if (!status.message().empty()) console.Note(absl::StrCat("ampc", verb.empty() ? "" : " ", verb, ": ", status.message()));
  return static_cast<int>(ExitCodeOf(status));
}

absl::Status NotWritten() { return IoError("writing to standard output failed"); }

// The first option among `args` that is not in `known`, "" for none.
std::string UnknownOption(const std::vector<std::string>& args, const std::vector<std::string>& known) {
  for (const std::string& arg : args) {
    if (arg == "--") break;
    if (arg.size() < 2 || arg[0] != '-' || (arg[1] >= '0' && arg[1] <= '9')) continue;
    const std::string name = arg[1] == '-' ? arg.substr(0, arg.find('=')) : arg.substr(0, 2);
    if (std::find(known.begin(), known.end(), name) == known.end()) return name;
  }
  return "";
}

// Words as people say them: `ampc help convert` is `ampc convert --help`, `ampc version` is `ampc --version`.
std::vector<std::string> Spoken(std::vector<std::string> args) {
  if (args.empty()) return args;
  if (args[0] == "version") args[0] = "--version";
  if (args[0] != "help") return args;
  if (args.size() == 1) return {"--help"};
  return {args[1], "--help"};
}

// Options that name several things, one each time they are given: `--exclude Conv Relu` is `--exclude Conv --exclude Relu` where that can
// be meant.
std::vector<std::string> WithRepeatedOptions(const std::vector<std::string>& args) {
  std::set<std::string> lists;
  for (const ConvertOption& option : ConvertOptionTable()) {
    if (option.form == OptionForm::kList && option.scope == OptionScope::kDecides) lists.insert(absl::StrCat("--", option.name));
  }
  std::vector<std::string> out;
  std::string list;  // that the words belong to
  for (const std::string& arg : args) {
    if (!list.empty() && arg[0] != '-' && out.back() != list) out.push_back(list);
    out.push_back(arg);
    if (arg.empty() || arg[0] != '-') continue;
    list = lists.contains(arg) ? arg : "";
  }
  return out;
}

// A word too many that could be the output.
std::string ExtraHint(const CLI::App& verb, const std::vector<std::string>& args, const CLI::ParseError& error) {
  const CLI::Option* const output = verb.get_option_no_throw("--output");
  if (output == nullptr || output->count() > 0 || args.size() < 3 || args.back()[0] == '-') return "";
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr,
             required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  return extra || (required && args[args.size() - 2][0] != '-') ? absl::StrCat("; did you mean '-o ", args.back(), "'?") : "";
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string Hint(const std::string& option, const std::vector<std::string>& options) {
  const std::string peer = PeerHint(option, options);
  return peer.empty() ? Suggest(option, options) : peer;
}

int ParseFailure(Console& console, const CLI::App& app, const std::vector<Command>& commands, const std::vector<std::string>& args,
                 const CLI::ParseError& error) {
  const std::string verb = args.empty() ? "" : args[0];
  std::vector<std::string> names;
  for (const Command& c : commands) names.push_back(c.name);
  const bool known = std::find(names.begin(), names.end(), verb) != names.end();
  if (!verb.empty() && !known && verb[0] != '-') {
    return Fail(console, "", UsageError(absl::StrCat("there is no verb '", verb, "'", Suggest(verb, names), "; ampc --help lists them")));
  }
  if (error.get_exit_code() == 0) {  // --help, --version
    std::ostringstream text;
    app.exit(error, text, text);
    console.Out(text.str());
    return console.ok() || console.has_enough() ? 0 : Fail(console, "", NotWritten());
  }
  if (verb.empty()) return Fail(console, "", UsageError("a verb is needed; ampc --help lists them"));
  const std::string help = absl::StrCat(" (see ampc ", known ? verb + " " : "", "--help)");
  const std::vector<std::string> options = OptionNames(known ? *app.get_subcommand(verb) : app);
  const std::string option = UnknownOption(args, options);
  if (!option.empty())
    return Fail(console, known ? verb : "", UsageError(absl::StrCat("there is no option '", option, "'", Hint(option, options), help)));
  const std::string extra = known ? ExtraHint(*app.get_subcommand(verb), args, error) : "";
  return Fail(console, known ? verb : "", UsageError(absl::StrCat(error.what(), extra, help)));
}

int Main(int argc, char** argv) {
  Console console;
  CLI::App app("ampc compiles trained models to mixed precision (fp16, bf16) and runs them.\n", "ampc");
  app.set_version_flag("--version", absl::StrCat("ampc ", Version()));
  app.require_subcommand(1);
  app.formatter(HelpFormatter());
  const std::vector<Command> commands = AllCommands();
  std::vector<std::pair<CLI::App*, Action>> verbs;
  for (const Command& command : commands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->footer(absl::StrCat("Examples:\n", command.examples));
    sub->formatter(HelpFormatter());
    verbs.emplace_back(sub, command.setup(Options(*sub)));
  }
  app.footer("Exit codes: 0 done; 1 the answer is no; 2 usage; 3 absent or bad input; 4 not supported; 5 internal or a failed write.");
  const std::vector<std::string> args = Spoken(std::vector<std::string>(argv + 1, argv + std::max(argc, 1)));
  const auto parse = [&app](std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
  };
  try {
    parse(args);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> repeated = WithRepeatedOptions(args);
    try {
      if (repeated == args) throw;
      parse(repeated);
    } catch (const CLI::ParseError&) {
      return ParseFailure(console, app, commands, args, error);
    }
  }
  for (const auto& [sub, action] : verbs) {
    if (!sub->parsed()) continue;
    NameInSentence(sub->get_name());
    const absl::Status status = action(console);
    if (!status.ok()) return Fail(console, sub->get_name(), status);
    // A reader that closed the stream does not miss the summary of a command whose files are whole.
    if (!console.ok() && !console.has_enough() && !(console.unread() && FilesReplaced() > 0))
      return Fail(console, sub->get_name(), NotWritten());
  }
  return 0;
}

}  // namespace
}  // namespace ampc

int main(int argc, char** argv) {
  ampc::EndWithSentence();
  return ampc::Main(argc, argv);
}
