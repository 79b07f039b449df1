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
#include "graph/text/printer.h"
#include "tools/cli/command.h"
#include "tools/cli/outputs.h"

namespace ampc {
namespace {

struct DotFlags {
  std::string model;
  std::string params;
  std::string output;
  int max_ops = 2000;
};

std::string Quote(absl::string_view text) { return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}), "\""); }

absl::string_view Colour(const Op& op) {
  if (op.marks.amp == AmpMark::kInserted) return "#ffe08a";  // casts that AMP inserted
  for (const Var* v : op.outputs()) {
    if (!v->type.IsFloat()) continue;
    if (v->type.dtype == DType::kF16) return "#a8d5a2";
    if (v->type.dtype == DType::kBF16) return "#a2c9d5";
    return "#ffffff";
  }
  return "#e0e0e0";
}

std::string Node(const Op& op, const Program& program) {
  std::string label = op.type();
  if (!op.outputs().empty()) absl::StrAppend(&label, "\n", PrintType(op.outputs()[0]->type, program));
  return absl::StrCat("  op", op.id(), " [label=", Quote(label), ", fillcolor=\"", Colour(op), "\"", op.marks.amp == AmpMark::kFp32 ? ", color=\"#b03030\"" : "", "];\n");
}

std::string ToDot(const Program& program) {
  std::string out = absl::StrCat("digraph ", Quote(program.name),
                                 " {\n  rankdir=TB;\n  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10];\n"
                                 "  edge [color=\"#808080\", arrowsize=0.6];\n");
  std::vector<int> producer(program.num_var_ids(), -1);
  for (const Var* feed : program.feeds) {
    absl::StrAppend(&out, "  var", feed->id(), " [label=", Quote(absl::StrCat(feed->exported(), "\n", PrintType(feed->type, program))), ", shape=ellipse, fillcolor=\"#d0d8ff\"];\n");
  }
  ForEachOp(program, [&](const Op& op) {
    absl::StrAppend(&out, Node(op, program));
    for (const Var* v : op.inputs()) {
      if (producer[v->id()] >= 0) {
        absl::StrAppend(&out, "  op", producer[v->id()], " -> op", op.id(), ";\n");
      } else if (v->kind == VarKind::kFeed) {
        absl::StrAppend(&out, "  var", v->id(), " -> op", op.id(), ";\n");
      }
    }
    for (const Var* v : op.outputs()) producer[v->id()] = op.id();
  });
  for (const Var* fetch : program.fetches) {
    absl::StrAppend(&out, "  fetch", fetch->id(), " [label=", Quote(fetch->exported()), ", shape=ellipse, fillcolor=\"#ffd0d0\"];\n");
    if (producer[fetch->id()] >= 0) absl::StrAppend(&out, "  op", producer[fetch->id()], " -> fetch", fetch->id(), ";\n");
  }
  return out + "}\n";
}


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
  if (code != 0 || svg.empty()) return UnsupportedError("an .svg needs the program 'dot' of Graphviz, which could not be run; write a .dot file instead");
  return svg;
}

absl::Status Run(const DotFlags& flags, Console&) {
  const bool svg = absl::EndsWith(flags.output, ".svg");
  if (!svg && !absl::EndsWith(flags.output, ".dot")) return UsageError(absl::StrCat("output '", flags.output, "' has an unknown ending, .dot or .svg is needed"));
  AMPC_RETURN_IF_ERROR(CheckOutputs({flags.output}, ModelFiles(flags.model, flags.params)));
  AMPC_ASSIGN_OR_RETURN(const Program program, LoadModel(flags.model, {.params = flags.params, .program_only = true}));
  int ops = 0;
  ForEachOp(program, [&ops](const Op&) { ++ops; });
  if (svg && ops > flags.max_ops) {
    return UnsupportedError(absl::StrCat(flags.model, " has ", ops, " ops, more than --max-ops ", flags.max_ops, " for an .svg; write a .dot file or raise the limit"));
  }
  const std::string dot = ToDot(program);
  if (!svg) return WriteFileAtomically(flags.output, dot);
  AMPC_ASSIGN_OR_RETURN(const std::string picture, ToSvg(dot, flags.output));
  return WriteFileAtomically(flags.output, picture);
}

}  // namespace

Command DotCommand() {
  return {"dot", "draws the graph, coloured by precision: green fp16, blue bf16, white fp32, grey no float, yellow inserted casts",
          "  ampc dot model_fp16.pdmodel -o graph.svg     needs Graphviz\n"
          "  ampc dot model_fp16.pdmodel -o graph.dot",
          [](CLI::App& app) -> Action {
            auto flags = std::make_shared<DotFlags>();
            app.add_option("model", flags->model, "a .pdmodel, .ampc or .prog file, or a directory with __model__")->required();
            app.add_option("--output,-o", flags->output, "a .dot or .svg file")->required();
            app.add_option("--params", flags->params, "file with the weights");
            app.add_option("--max-ops", flags->max_ops, "largest program that is laid out as .svg")->capture_default_str();
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
