#include "tools/report/graph_json.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/json_writer.h"
#include "graph/base/utf8.h"
#include "graph/text/printer.h"
#include "tools/picture/layout.h"
#include "tools/picture/picture.h"

namespace ampc {
namespace {

// The first `most` characters; an ellipsis stands for the rest.
std::string Shorten(absl::string_view text, int most) {
  std::string out;
  for (int i = 0; !text.empty(); ++i) {
    if (i == most - 1 && text.size() > Utf8Length(text)) return absl::StrCat(out, "…");
    const size_t length = std::max<size_t>(Utf8Length(text), 1);
    absl::StrAppend(&out, text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

int Characters(absl::string_view text) {
  int count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(std::max<size_t>(Utf8Length(text), 1));
  return count;
}

std::string BelowLabel(const PictureNode& node, const Program& program) {
  switch (node.kind) {
    case PictureNode::kRepeat: {
      const int each = node.num_ops / node.count;
      return absl::StrCat(each, each == 1 ? " op each" : " ops each");
    }
    case PictureNode::kSection: return absl::StrCat(node.num_ops, " ops from #", node.first + 1);
    default: return node.var == nullptr ? "" : PrintType(node.var->type, program);
  }
}

class GraphWriter {
 public:
  GraphWriter(const Program& program, const GraphLimits& limits) : program_(program), limits_(limits) {}

  std::string Write() {
    const Picture grouped = MakePicture(program_);
    json_.BeginObject(JsonWriter::kInline).Field("num_ops", grouped.ops.size());
    WriteOps(grouped.ops);
    WriteScenes("grouped", grouped, limits_.nodes);
    const Picture flat = MakePicture(program_, {.group = false, .max_nodes = 0});
    size_t nodes = 0, folded = 0;
    for (const PictureScene& scene : flat.scenes) nodes += scene.nodes.size();
    for (const PictureScene& scene : grouped.scenes) folded += scene.nodes.size();
    if (nodes <= static_cast<size_t>(limits_.flat_nodes) && (folded != nodes || flat.scenes.size() != grouped.scenes.size()))
      WriteScenes("flat", flat, limits_.nodes);
    WriteValueTable();
    json_.EndObject();
    return json_.Take();
  }

 private:
  int ValueIndex(const Var* var) {
    const auto [it, added] = value_index_.try_emplace(var, static_cast<int>(values_.size()));
    if (added) values_.push_back(var);
    return it->second;
  }

  void WriteValues(absl::Span<Var* const> vars) {
    json_.BeginArray();
    for (size_t i = 0; i < vars.size() && i < static_cast<size_t>(limits_.operands); ++i) json_.Int(ValueIndex(vars[i]));
    json_.EndArray();
  }

  void WriteOps(const std::vector<const Op*>& ops) {
    json_.Key("casts").BeginArray();
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i]->marks.amp == AmpMark::kInserted) json_.Int(static_cast<int64_t>(i));
    }
    json_.EndArray().Key("ops").BeginArray();
    for (size_t i = 0; i < ops.size() && i < static_cast<size_t>(limits_.ops); ++i) {
      json_.BeginArray();
      WriteValues(ops[i]->inputs());
      WriteValues(ops[i]->outputs());
      json_.Int(ops[i]->marks.guard).EndArray();
    }
    json_.EndArray();
  }

  // After everything that refers to values.
  void WriteValueTable() {
    absl::flat_hash_map<std::string, int> type_index;
    std::vector<std::string> types;
    json_.Key("values").BeginArray();
    for (const Var* var : values_) {
      std::string type = PrintType(var->type, program_);
      const auto [it, added] = type_index.try_emplace(type, static_cast<int>(types.size()));
      if (added) types.push_back(std::move(type));
      json_.BeginArray().String(var->exported()).Int(it->second).EndArray();
    }
    json_.EndArray().Key("types").BeginArray();
    for (const std::string& type : types) json_.String(type);
    json_.EndArray();
  }

  // The first scenes, as many as the limit has nodes for, and always the main one.
  void WriteScenes(absl::string_view key, const Picture& picture, int most_nodes) {
    size_t stop = 0, nodes = 0;
    while (stop < picture.scenes.size() && (stop == 0 || nodes + picture.scenes[stop].nodes.size() <= static_cast<size_t>(most_nodes)))
      nodes += picture.scenes[stop++].nodes.size();
    json_.Key(key).BeginArray();
    for (size_t s = 0; s < stop; ++s) WriteScene(picture.scenes[s], static_cast<int>(stop));
    json_.EndArray();
  }

  void WriteScene(const PictureScene& scene, int num_scenes) {
    constexpr int kMostLabel = 28, kMostBelow = 30;
    std::vector<LayoutBox> boxes;
    std::vector<std::pair<std::string, std::string>> texts;
    for (const PictureNode& node : scene.nodes) {
      std::string label = Shorten(node.label, kMostLabel), below = Shorten(BelowLabel(node, program_), kMostBelow);
      const int badge = node.kind == PictureNode::kRepeat ? 4 + static_cast<int>(std::log10(node.count)) : 0;
      const bool value = node.kind != PictureNode::kOp && badge == 0 && node.kind != PictureNode::kSection;
      const double padding = value || node.tone == Tone::kCast ? 40 : 26;  // round ends
      const double width = std::max({84.0, 7.8 * (Characters(label) + badge) + padding, 6.2 * Characters(below) + padding});
      boxes.push_back({std::round(width / 2) * 2, 40});
      texts.emplace_back(std::move(label), std::move(below));
    }
    std::vector<std::pair<int, int>> edges;
    for (const PictureEdge& edge : scene.edges) edges.emplace_back(edge.from, edge.to);
    const Layout layout = LayOut(std::move(boxes), edges);
    json_.BeginObject().Field("title", scene.title).Field("parent", scene.parent).Field("first", scene.first).Field("num", scene.num_ops);
    json_.Field("width", Pixels(layout.width)).Field("height", Pixels(layout.height)).Key("nodes").BeginArray();
    for (size_t i = 0; i < scene.nodes.size(); ++i) WriteNode(scene.nodes[i], layout.boxes[i], texts[i], num_scenes);
    json_.EndArray().Key("edges").BeginArray();
    for (size_t e = 0; e < edges.size(); ++e)
      json_.BeginArray().Int(edges[e].first).Int(edges[e].second).String(layout.paths[e]).EndArray();
    json_.EndArray().EndObject();
  }

  static int64_t Pixels(double length) { return std::lround(length); }

  void WriteNode(const PictureNode& node, const LayoutBox& box, const std::pair<std::string, std::string>& text, int num_scenes) {
    json_.BeginArray().Int(Pixels(box.x)).Int(Pixels(box.y)).Int(Pixels(box.width)).Int(Pixels(box.height));
    json_.Int(static_cast<int>(node.kind)).Int(static_cast<int>(node.tone)).String(text.first).String(text.second).Int(node.first);
    json_.Int(node.first >= 0 || node.var == nullptr ? node.num_ops : ValueIndex(node.var)).Int(node.count);
    json_.BeginArray();
    for (const int child : node.children) {
      if (child < num_scenes) json_.Int(child);
    }
    json_.EndArray().BeginArray();
    for (const int count : node.tones) json_.Int(count);
    json_.EndArray().EndArray();
  }

  const Program& program_;
  const GraphLimits limits_;
  JsonWriter json_;
  absl::flat_hash_map<const Var*, int> value_index_;
  std::vector<const Var*> values_;
};

}  // namespace

std::string GraphJson(const Program& program, const GraphLimits& limits) { return GraphWriter(program, limits).Write(); }

}  // namespace ampc
