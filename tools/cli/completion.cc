#include "tools/cli/completion.h"

#include <vector>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace ampc {
namespace {

struct OptionFacts {
  std::vector<std::string> names;  // with dashes, short ones first; none for a positional argument
  std::string help;
  bool takes_value = false;
  std::vector<std::string> values;  // when there is a list of them
  bool files = false;               // names of files, too
  bool list = false;                // several, separated by commas
};

struct VerbFacts {
  std::string name, help;
  std::vector<OptionFacts> options;
};

// CLI11 describes a list of values as "TEXT:{a,b}".
std::vector<std::string> Values(absl::string_view type) {
  const size_t open = type.find('{'), close = type.find('}');
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) return {};
  return absl::StrSplit(type.substr(open + 1, close - open - 1), ',', absl::SkipWhitespace());
}

OptionFacts FactsOf(const CLI::Option& option, const std::string& verb, const std::vector<CompletionValues>& others) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  facts.help = option.get_description();
  facts.takes_value = option.get_items_expected_max() > 0;
  facts.values = Values(option.get_type_name());
  facts.list = option.get_delimiter() == ',';
  for (const CompletionValues& other : others) {
    if (other.verb != verb || other.option != option.get_name()) continue;
    facts.values = other.words;
    facts.files = other.files;
    facts.list = other.list;
  }
  return facts;
}

std::vector<VerbFacts> FactsOf(const CLI::App& app, const std::vector<CompletionValues>& others) {
  std::vector<VerbFacts> verbs;
  for (const CLI::App* sub : app.get_subcommands({})) {
    verbs.push_back({sub->get_name(), sub->get_description(), {}});
    for (const CLI::Option* option : sub->get_options()) verbs.back().options.push_back(FactsOf(*option, sub->get_name(), others));
  }
  return verbs;
}

std::string Quoted(absl::string_view text) { return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'"); }

// The names of all verbs, and the options of the command itself.
std::string FirstWords(const std::vector<VerbFacts>& verbs) {
  return absl::StrCat(absl::StrJoin(verbs, " ", [](std::string* out, const VerbFacts& v) { *out += v.name; }), " --help --version");
}

// The lines that the branch of a value sets.
std::string BashWords(const OptionFacts& option) {
  return absl::StrCat("words=", Quoted(absl::StrJoin(option.values, " ")), option.list ? " list=1" : "", option.files ? " files=1" : "");
}

// An empty COMPREPLY makes bash complete names of files.
std::string Bash(const std::vector<VerbFacts>& verbs) {
  std::string out =
      "# bash completion of ampc, written by `ampc completion bash`\n"
      "_ampc() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= list= files= word all=\n"
      "  if [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; elif [ \"$cur\" = = ]; then cur=; fi\n"
      "  case \"$COMP_CWORD ${COMP_WORDS[1]} $prev $cur\" in\n";
  absl::StrAppend(&out, "    1\\ *) words=", Quoted(FirstWords(verbs)), " ;;\n");
  for (const VerbFacts& verb : verbs) {
    std::string names, positional;
    for (const OptionFacts& option : verb.options) {
      if (option.names.empty() && !option.values.empty()) positional = BashWords(option);
      for (const std::string& name : option.names) {
        absl::StrAppend(&names, names.empty() ? "" : " ", name);
        if (option.takes_value && !option.values.empty())
          absl::StrAppend(&out, "    *\\ ", verb.name, "\\ ", name, "\\ *) ", BashWords(option), " ;;\n");
      }
    }
    absl::StrAppend(&out, "    *\\ ", verb.name, "\\ *\\ -*) words=", Quoted(names), " ;;\n");
    if (!positional.empty()) absl::StrAppend(&out, "    2\\ ", verb.name, "\\ *) ", positional, " ;;\n");
  }
  return out +
         "  esac\n"
         "  case \"$list$cur\" in 1*,*) for word in $words; do all=\"$all ${cur%,*},$word\"; done; words=$all ;; esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  [ -z \"$files\" ] || while IFS= read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -f -- \"$cur\")\n"
         "}\n"
         "complete -o default -F _ampc ampc\n";
}

std::string ZshSpec(const OptionFacts& option) {
  const std::string words = absl::StrJoin(option.values, " ");
  const std::string action = option.values.empty() ? "_files"
                             : option.list         ? absl::StrCat("{_sequence compadd - ", words, "}")
                             : option.files        ? absl::StrCat("{_alternative \"names:name:(", words, ")\" \"files:file:_files\"}")
                                                   : absl::StrCat("(", words, ")");
  if (option.names.empty()) return Quoted(absl::StrCat("*:argument:", action));
  const std::string help = absl::StrReplaceAll(option.help, {{"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
  std::vector<std::string> specs;
  for (const std::string& name : option.names) {
    const char* join = !option.takes_value ? ""
                       : name[1] == '-'    ? "="
                                           : "+";  // the value behind = or in the next word; of -o at once or there
    specs.push_back(Quoted(absl::StrCat("*", name, join, "[", help, "]", option.takes_value ? ":value:" + action : "")));
  }
  return absl::StrJoin(specs, " ");
}

std::string Zsh(const std::vector<VerbFacts>& verbs) {
  std::string out = "#compdef ampc\n# zsh completion of ampc, written by `ampc completion zsh`\n_ampc() {\n  local -a verbs=(\n";
  for (const VerbFacts& verb : verbs)
    absl::StrAppend(&out, "    ", Quoted(absl::StrCat(verb.name, ":", absl::StrReplaceAll(verb.help, {{":", "\\:"}}))), "\n");
  out +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe verb verbs\n    return\n  fi\n  shift words\n  (( CURRENT-- ))\n  case $words[1] "
      "in\n";
  for (const VerbFacts& verb : verbs) {
    absl::StrAppend(&out, "    ", verb.name, ")\n      _arguments");
    for (const OptionFacts& option : verb.options) absl::StrAppend(&out, " \\\n        ", ZshSpec(option));
    out += " ;;\n";
  }
  return out + "  esac\n}\nif [ \"$funcstack[1]\" = _ampc ]; then _ampc \"$@\"; else compdef _ampc ampc; fi\n";
}

std::string Fish(const std::vector<VerbFacts>& verbs) {
  std::string out = "# fish completion of ampc, written by `ampc completion fish`\n";
  for (const VerbFacts& verb : verbs)
    absl::StrAppend(&out, "complete -c ampc -n __fish_use_subcommand -f -a ", verb.name, " -d ", Quoted(verb.help), "\n");
  for (const VerbFacts& verb : verbs) {
    for (const OptionFacts& option : verb.options) {
      const std::string values =
          Quoted(option.list ? absl::StrCat("(__fish_complete_list , \"string split , ", absl::StrJoin(option.values, ","), "\")")
                             : absl::StrJoin(option.values, " "));
      std::string words;
      for (const std::string& name : option.names)
        absl::StrAppend(&words, name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1));
      if (option.names.empty() && option.values.empty()) continue;  // files are fish's default
      if (option.names.empty()) words = (option.files ? " -a " : " -f -a ") + values;
      if (!option.names.empty() && option.takes_value) words += option.values.empty() ? " -r" : " -x -a " + values;
      absl::StrAppend(&out, "complete -c ampc -n '__fish_seen_subcommand_from ", verb.name, "'", words, " -d ", Quoted(option.help), "\n");
    }
  }
  return out;
}

}  // namespace

std::string CompletionScript(const Options& verb, const std::string& shell, const std::vector<CompletionValues>& values) {
  const std::vector<VerbFacts> verbs = FactsOf(*verb.app().get_parent(), values);
  return shell == "bash" ? Bash(verbs) : shell == "zsh" ? Zsh(verbs) : Fish(verbs);
}

}  // namespace ampc
