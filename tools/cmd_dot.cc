// ampc dot: a picture of the graph, coloured by precision.
#include <array>
#include <cstdio>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "tools/cli/command.h"
#include "tools/cli/outputs.h"
#include "tools/picture/dot.h"

namespace ampc {
namespace {

struct DotFlags {
  std::string model;
  std::string params;
  std::string output;
  DotOptions options;
};

// Graphviz lays the picture out; the text goes through a temporary file, so that names need no quoting for a shell.
absl::StatusOr<std::string> ToSvg(const std::string& dot, const std::string& beside) {
  const std::string source = absl::StrCat(beside, ".dot.tmp");
  AMPC_RETURN_IF_ERROR(WriteFileAtomically(source, dot, {.no_sync = true}));
  std::string svg;
  int code = 0;
  {
    const std::string command = absl::StrCat("dot -Tsvg '", absl::StrReplaceAll(source, {{"'", "'\\''"}}), "' 2>/dev/null");
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return IoError("starting Graphviz failed");
    std::array<char, 1 << 16> buffer;
    for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) svg.append(buffer.data(), n);
    code = pclose(pipe);
  }
  std::remove(source.c_str());
  if (code != 0 || svg.empty())
    return UnsupportedError("an .svg needs the program 'dot' of Graphviz, which could not be run; write a .dot file instead");
  return svg;
}

absl::Status Run(const DotFlags& flags, Console&) {
  const bool svg = absl::EndsWith(flags.output, ".svg");
  if (!svg && !absl::EndsWith(flags.output, ".dot"))
    return UsageError(absl::StrCat("output '", flags.output, "' has an unknown ending, .dot or .svg is needed"));
  AMPC_RETURN_IF_ERROR(CheckOutputs({flags.output}, ModelFiles(flags.model, flags.params)));
  AMPC_ASSIGN_OR_RETURN(const Program program, LoadModel(flags.model, {.params = flags.params, .program_only = true}));
  const std::string dot = ToDot(program, flags.options);
  if (!svg) return WriteFileAtomically(flags.output, dot);
  AMPC_ASSIGN_OR_RETURN(const std::string picture, ToSvg(dot, flags.output));
  return WriteFileAtomically(flags.output, picture);
}

}  // namespace

Command DotCommand() {
  return {"dot", "draws the graph, coloured by precision: blue low, orange fp32, grey no floats, teal inserted casts",
          "  ampc dot model_fp16.pdmodel -o graph.svg                needs Graphviz\n"
          "  ampc dot model_fp16.pdmodel -o graph.dot\n"
          "  ampc dot model_fp16.pdmodel -o graph.svg --no-group     every op, whatever repeats",
          [](Options options) -> Action {
            auto flags = std::make_shared<DotFlags>();
            options.Add("model", flags->model, kModelHelp).Required();
            options.Add("--output,-o", flags->output, "a .dot or .svg file").Required();
            options.Add("--params", flags->params, "file with the weights");
            options.Flag("--group,!--no-group", flags->options.group, "blocks that repeat are drawn once (the default)");
            options.Add("--depth", flags->options.depth, "levels of blocks inside of blocks").Positive().ShowDefault();
            options.Add("--max-nodes", flags->options.max_nodes, "what follows these is left out, with a note").Positive().ShowDefault();
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
