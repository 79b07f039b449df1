// ampc dot: a picture of the graph, coloured by precision.
#include <stdio.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/files_read.h"
#include "graph/formats/format.h"
#include "graph/formats/outputs.h"
#include "tools/cli/command.h"
#include "tools/picture/dot.h"

namespace ampc {
namespace {

struct DotFlags {
  std::string model;
  std::string params;
  std::string output;
  DotOptions options;
};

// Graphviz lays the picture out. It reads the text from a file in memory, which it inherits, so that nobody's file is in the way.
absl::StatusOr<std::string> ToSvg(const std::string& dot, const std::string& output) {
  const int fd = memfd_create("graph.dot", 0);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> source(fd < 0 ? nullptr : fdopen(fd, "w"), std::fclose);
  if (source == nullptr || std::fwrite(dot.data(), 1, dot.size(), source.get()) != dot.size() || std::fflush(source.get()) != 0) {
    return SystemError(output, "be drawn", errno);
  }
  std::FILE* pipe = popen(absl::StrCat("dot -Tsvg /proc/self/fd/", fd, " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return IoError("starting Graphviz failed");
  std::string svg;
  std::array<char, 1 << 16> buffer;
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) svg.append(buffer.data(), n);
  const int code = pclose(pipe);
  if (code != 0 || svg.empty())
    return UnsupportedError("an .svg needs the program 'dot' of Graphviz, which could not be run; write a .dot file instead");
  return svg;
}

absl::Status Run(const DotFlags& flags, Console& console) {
  const bool svg = absl::EndsWith(flags.output, ".svg");
  if (!svg && !absl::EndsWith(flags.output, ".dot"))
    return UsageError(absl::StrCat("output '", flags.output, "' has an unknown extension, .dot or .svg is needed"));
  FilesRead read;
  AMPC_RETURN_IF_ERROR(CheckOutputs({flags.output}, ModelFiles(flags.model, flags.params)));
  const Progress progress(console, "loading and drawing");
  AMPC_ASSIGN_OR_RETURN(const Program program, LoadModel(flags.model, {.params = flags.params, .program_only = true}));
  AMPC_RETURN_IF_ERROR(CheckNotRead({flags.output}, read));
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
            options.Add("--output,-o", flags->output, "a .dot or .svg file").Required().Values("FILE");
            options.Add("--params", flags->params, "file with the weights").Values("FILE");
            options.Flag("--group,!--no-group", flags->options.group, "blocks that repeat are drawn once (the default)");
            options.Add("--depth", flags->options.depth, "levels of blocks inside of blocks").Positive().ShowDefault();
            options.Add("--max-nodes", flags->options.max_nodes, "what follows these is left out, with a note").Positive().ShowDefault();
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
