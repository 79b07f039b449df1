#include "tools/picture/dot.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/base/utf8.h"
#include "graph/text/printer.h"
#include "tools/picture/picture.h"

namespace ampc {
namespace {

std::string Quote(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(DocumentText(text), {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}), "\"");
}

struct Colours {
  absl::string_view name, fill, line;
};
// By tone.
constexpr Colours kColours[kNumTones] = {
    {"no floats", "#eceff3", "#5f6b7c"}, {"fp32", "#fdeadb", "#a84806"},          {"low", "#e2edfb", "#1a66c9"},
    {"mixed", "#f1e7fa", "#8145b5"},     {"inserted cast", "#d9f3ee", "#0a7466"},
};

class DotWriter {
 public:
  DotWriter(const Program& program, const DotOptions& options)
      : program_(program), options_(options), picture_(MakePicture(program, {.group = options.group, .max_nodes = 0})) {}

  std::string Write() {
    out_ = absl::StrCat(
        "digraph ", Quote(program_.name),
        " {\n  rankdir=TB;\n  compound=true;\n  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10];\n"
        "  edge [color=\"#808894\", arrowsize=0.6];\n  graph [fontname=\"Helvetica\", fontsize=11, color=\"#9aa3b0\", "
        "style=\"rounded\"];\n");
    Scene(0, "  ", 0);
    Legend();
    if (left_out_ > 0) {
      absl::StrAppend(&out_, "  left_out [shape=note, style=filled, fillcolor=\"#fff6d6\", label=",
                      Quote(absl::StrCat(left_out_, left_out_ == 1 ? " op is" : " ops are", " left out:\nthe limit of ", options_.max_nodes,
                                         " nodes or ", options_.depth, " levels is reached")),
                      "];\n");
    }
    return out_ + "}\n";
  }

 private:
  static std::string Id(int scene, int node) { return absl::StrCat("s", scene, "_", node); }

  void Scene(int index, const std::string& indent, int depth) {
    const PictureScene& scene = picture_.scenes[index];
    std::map<int, std::vector<int>> regions;  // guard region -> nodes; 0 is outside
    std::vector<bool> drawn(scene.nodes.size(), false);
    for (size_t i = 0; i < scene.nodes.size(); ++i) {
      const PictureNode& node = scene.nodes[i];
      if (num_nodes_ >= options_.max_nodes) {
        left_out_ += node.num_ops;
        continue;
      }
      ++num_nodes_;
      drawn[i] = true;
      regions[Region(node)].push_back(static_cast<int>(i));
    }
    for (const auto& [region, nodes] : regions) {
      if (region != 0)
        absl::StrAppend(&out_, indent, "subgraph cluster_guard", region, "_", index, " {\n", indent,
                        "  label=", Quote(absl::StrCat("fp16_guard ", region)), ";\n");
      for (const int i : nodes) Node(scene.nodes[i], Id(index, i), indent + (region != 0 ? "  " : ""));
      if (region != 0) absl::StrAppend(&out_, indent, "}\n");
    }
    for (const PictureEdge& edge : scene.edges) {
      if (drawn[edge.from] && drawn[edge.to]) absl::StrAppend(&out_, indent, Id(index, edge.from), " -> ", Id(index, edge.to), ";\n");
    }
    for (size_t i = 0; i < scene.nodes.size(); ++i) {
      if (drawn[i]) Inside(scene.nodes[i], Id(index, static_cast<int>(i)), indent, depth);
    }
  }

  // The inside of a node, as a cluster beside it that a dashed line leads to.
  void Inside(const PictureNode& node, const std::string& id, const std::string& indent, int depth) {
    for (const int child : node.children) {
      const PictureScene& scene = picture_.scenes[child];
      if (depth + 1 >= options_.depth || num_nodes_ >= options_.max_nodes) {
        if (node.kind == PictureNode::kOp) left_out_ += scene.num_ops;
        continue;
      }
      std::string title = node.kind == PictureNode::kRepeat
                              ? absl::StrCat("one of ", node.count, " equal blocks of ", scene.num_ops, scene.num_ops == 1 ? " op" : " ops")
                              : scene.title;
      absl::StrAppend(&out_, indent, "subgraph cluster_", child, " {\n", indent, "  label=", Quote(title), ";\n");
      Scene(child, indent + "  ", depth + 1);
      absl::StrAppend(&out_, indent, "}\n");
      if (!scene.nodes.empty()) {
        absl::StrAppend(&out_, indent, id, " -> ", Id(child, 0), " [style=dashed, arrowhead=none, constraint=false, lhead=cluster_", child,
                        "];\n");
      }
    }
  }

  // The guard region that all of the node's ops are in, 0 for none or several.
  int Region(const PictureNode& node) const {
    if (node.first < 0) return 0;
    const int region = picture_.ops[node.first]->marks.guard;
    for (int i = node.first; i < node.first + node.num_ops; ++i) {
      if (picture_.ops[i]->marks.guard != region) return 0;
    }
    return region;
  }

  void Node(const PictureNode& node, const std::string& id, const std::string& indent) {
    const Colours& colours = kColours[static_cast<int>(node.tone)];
    std::string label = node.label, extra;
    if (node.kind == PictureNode::kRepeat) {
      label = absl::StrCat("×", node.count, "  ", node.label, "\n", node.num_ops / node.count,
                           node.num_ops == node.count ? " op each" : " ops each", Tones(node));
      extra = ", peripheries=2";
    } else if (node.var != nullptr) {
      absl::StrAppend(&label, "\n", PrintType(node.var->type, program_));
    }
    if (node.kind != PictureNode::kRepeat && node.kind != PictureNode::kOp) extra = ", shape=ellipse, style=\"filled,dashed\"";
    if (node.kind == PictureNode::kOp && picture_.ops[node.first]->marks.amp == AmpMark::kFp32) extra = ", penwidth=2";
    absl::StrAppend(&out_, indent, id, " [label=", Quote(label), ", fillcolor=\"", colours.fill, "\", color=\"", colours.line, "\"", extra,
                    "];\n");
    used_.insert(node.tone);
  }

  static std::string Tones(const PictureNode& node) {
    if (node.tone != Tone::kMixed) return "";
    return absl::StrCat("\n", node.tones[static_cast<int>(Tone::kLow)], " low, ", node.tones[static_cast<int>(Tone::kFull)], " fp32");
  }

  void Legend() {
    absl::StrAppend(&out_, "  subgraph cluster_legend {\n    label=\"colours\";\n");
    for (const Tone tone : used_) {
      const Colours& colours = kColours[static_cast<int>(tone)];
      absl::StrAppend(&out_, "    legend_", Name(tone), " [label=", Quote(colours.name), ", fillcolor=\"", colours.fill, "\", color=\"",
                      colours.line, "\", height=0.2];\n");
    }
    absl::StrAppend(&out_, "  }\n");
  }

  const Program& program_;
  const DotOptions options_;
  const Picture picture_;
  std::string out_;
  std::set<Tone> used_;
  int num_nodes_ = 0;
  int left_out_ = 0;
};

}  // namespace

std::string ToDot(const Program& program, const DotOptions& options) { return DotWriter(program, options).Write(); }

}  // namespace ampc
