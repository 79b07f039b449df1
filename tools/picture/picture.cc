#include "tools/picture/picture.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/op_record.h"
#include "tools/picture/dataflow.h"
#include "tools/picture/repeats.h"

namespace ampc {
namespace {

// A node to be: an op, a repeat (count > 1) or a section (inside not empty).
struct Item {
  int first = 0;
  int end = 0;
  int count = 1;
  std::vector<Item> inside;
};

// The contents of a group in a few words: products and convolutions first, what only moves data last.
std::string Summary(absl::Span<const Op* const> ops) {
  constexpr size_t kMost = 2;
  constexpr int kRanks = 3;
  std::vector<std::string> types[kRanks];
  for (const Op* op : ops) {
    const AmpClass amp = AmpClassOf(*op);
    std::vector<std::string>& rank = types[amp == AmpClass::kAllow ? 0 : amp == AmpClass::kClear || amp == AmpClass::kNever ? 2 : 1];
    if (rank.size() <= kMost && std::find(rank.begin(), rank.end(), op->type()) == rank.end()) rank.push_back(op->type());
  }
  std::vector<std::string> words;
  for (const std::vector<std::string>& rank : types) words.insert(words.end(), rank.begin(), rank.end());
  const bool more = words.size() > kMost;
  if (more) words.resize(kMost);
  return absl::StrCat(absl::StrJoin(words, ", "), more ? ", …" : "");
}

class PictureMaker {
 public:
  PictureMaker(const Program& program, const PictureOptions& options)
      : program_(program), options_(options), flow_(program), node_of_(flow_.ops.size(), -1) {
    picture_.ops = flow_.ops;
  }

  Picture Make() {
    AddBlock(program_.main(), "graph", -1);
    return std::move(picture_);
  }

 private:
  int AddBlock(const Block& block, const std::string& title, int parent) {
    const int first = flow_.block_begin[block.index()];
    const int end = flow_.block_begin[block.index() + 1];
    return AddScene(title, parent, first, end, Items(first, end));
  }

  // The ops [first, end) with repeats folded.
  std::vector<Item> Items(int first, int end) const {
    std::vector<Item> items;
    Fold(first, end, 0, &items);
    return Sections(std::move(items));
  }

  void Fold(int first, int end, int round, std::vector<Item>* items) const {
    constexpr int kSmall = 24;  // a graph of that size is read as it is
    constexpr int kRounds = 3;
    int next = first;
    const auto plain_to = [&](int stop) {
      // The rest of a run whose blocks are not wired alike may have shorter runs.
      if (stop - next > kSmall && stop - next < end - first && round + 1 < kRounds) {
        Fold(next, stop, round + 1, items);
        next = stop;
      }
      for (; next < stop; ++next) items->push_back({next, next + 1, 1, {}});
    };
    if (options_.group && end - first > kSmall) {
      const size_t size = end - first;
      for (const Repeat& found :
           FindRepeats(absl::MakeSpan(flow_.tokens).subspan(first, size), absl::MakeSpan(flow_.cut).subspan(first, size))) {
        for (const Repeat& repeat : SameInside({found.first + first, found.period, found.count})) {
          plain_to(repeat.first);
          items->push_back({repeat.first, repeat.end(), repeat.count, {}});
          next = repeat.end();
        }
      }
    }
    plain_to(end);
  }

  // The parts of the run whose blocks are wired alike, too.
  std::vector<Repeat> SameInside(const Repeat& run) const {
    std::vector<Repeat> parts;
    std::vector<int> wires, last;
    for (int k = 0; k < run.count; ++k) {
      const int begin = run.first + k * run.period;
      wires.clear();
      for (int i = begin; i < begin + run.period; ++i) {
        for (const int from : flow_.Producers(i)) wires.push_back(from >= begin ? i - from : 0);
        wires.push_back(-1);
      }
      if (k > 0 && wires == last) {
        ++parts.back().count;
      } else {
        parts.push_back({begin, run.period, 1});
      }
      last.swap(wires);
    }
    parts.erase(std::remove_if(parts.begin(), parts.end(), [](const Repeat& r) { return r.count < 2; }), parts.end());
    return parts;
  }

  // Splits a list that is too long where few values cross.
  std::vector<Item> Sections(std::vector<Item> items) const {
    constexpr size_t kSection = 40;
    const size_t most = options_.max_nodes;
    if (most == 0 || items.size() <= most) return items;
    const size_t size = std::max(kSection, (items.size() + most - 1) / most * 5 / 4);
    std::vector<Item> sections;
    for (size_t i = 0; i < items.size();) {
      size_t stop = std::min(items.size(), i + size);
      if (stop < items.size()) {
        size_t best = stop;
        for (size_t s = stop; s > i + size * 4 / 5; --s) {
          if (flow_.cut[items[s].first] < flow_.cut[items[best].first]) best = s;
        }
        stop = best;
      }
      if (stop == i + 1) {
        sections.push_back(std::move(items[i++]));
        continue;
      }
      Item section{items[i].first, items[stop - 1].end, 1, {}};
      section.inside.assign(std::make_move_iterator(items.begin() + i), std::make_move_iterator(items.begin() + stop));
      sections.push_back(std::move(section));
      i = stop;
    }
    return sections;
  }

  PictureNode NodeOf(const Item& item) const {
    PictureNode node;
    node.first = item.first;
    node.num_ops = item.end - item.first;
    node.count = item.count;
    for (int i = item.first; i < item.end; ++i) ++node.tones[static_cast<int>(ToneOf(*flow_.ops[i]))];
    const Op& op = *flow_.ops[item.first];
    if (item.count == 1 && item.inside.empty()) {
      node.tone = ToneOf(op);
      node.label = op.type();
      node.var = op.outputs().empty() ? nullptr : op.outputs()[0];
      return node;
    }
    node.kind = item.count > 1 ? PictureNode::kRepeat : PictureNode::kSection;
    node.label = Summary(absl::MakeSpan(flow_.ops).subspan(item.first, node.num_ops / item.count));
    const bool full = node.tones[static_cast<int>(Tone::kFull)] > 0;
    const bool low = node.tones[static_cast<int>(Tone::kLow)] > 0;
    const bool mixed = full && low;
    if (mixed || full || low) node.tone = mixed ? Tone::kMixed : full ? Tone::kFull : Tone::kLow;
    if (node.tones[static_cast<int>(Tone::kCast)] == node.num_ops) node.tone = Tone::kCast;
    return node;
  }

  int AddScene(std::string title, int parent, int first, int end, std::vector<Item> items) {
    const int index = static_cast<int>(picture_.scenes.size());
    picture_.scenes.emplace_back();
    PictureScene scene{std::move(title), parent, first, end - first, {}, {}};
    if (parent < 0) {
      for (const Var* feed : program_.feeds) AddValue(PictureNode::kFeed, feed, &scene);
    }
    AddNodesAndEdges(items, end, &scene);
    size_t item = 0;
    for (PictureNode& node : scene.nodes) {
      if (node.first < 0) continue;
      AddChildren(items[item++], index, &node);
    }
    picture_.scenes[index] = std::move(scene);
    return index;
  }

  void AddChildren(Item& item, int scene, PictureNode* node) {
    if (node->kind == PictureNode::kRepeat) {
      const int end = item.first + node->num_ops / node->count;
      node->children.push_back(AddScene(node->label, scene, item.first, end, Items(item.first, end)));
    } else if (node->kind == PictureNode::kSection) {
      node->children.push_back(AddScene(node->label, scene, item.first, item.end, Sections(std::move(item.inside))));
    } else {
      for (const int block : flow_.ops[item.first]->SubBlocks()) {
        const Block& inner = program_.block(block);
        if (inner.index() > 0 && flow_.Enter(block))
          node->children.push_back(AddBlock(inner, absl::StrCat(node->label, " ", inner.name()), scene));
      }
    }
  }

  // The values from outside, the items, the values for outside, and the edges between them.
  void AddNodesAndEdges(const std::vector<Item>& items, int end, PictureScene* scene) {
    const int first = scene->first;
    AddInputs(end, scene);
    const int shift = static_cast<int>(scene->nodes.size());
    for (size_t i = 0; i < items.size(); ++i) {
      for (int op = items[i].first; op < items[i].end; ++op) node_of_[op] = shift + static_cast<int>(i);
      scene->nodes.push_back(NodeOf(items[i]));
    }
    for (int op = first; op < end; ++op) {
      const absl::Span<const int> producers = flow_.Producers(op);
      for (size_t i = 0; i < producers.size(); ++i) {
        if (producers[i] >= first) {
          if (node_of_[producers[i]] != node_of_[op]) scene->edges.push_back({node_of_[producers[i]], node_of_[op]});
        } else if (auto it = value_node_.find(flow_.ops[op]->inputs()[i]->id());
                   producers[i] != Dataflow::kWeight && it != value_node_.end()) {
          scene->edges.push_back({it->second, node_of_[op]});
        }
      }
    }
    AddOutputs(end, scene);
    value_node_.clear();
    std::sort(scene->edges.begin(), scene->edges.end(),
              [](const PictureEdge& a, const PictureEdge& b) { return std::make_pair(a.from, a.to) < std::make_pair(b.from, b.to); });
    scene->edges.erase(std::unique(scene->edges.begin(), scene->edges.end()), scene->edges.end());
  }

  void AddValue(PictureNode::Kind kind, const Var* var, PictureScene* scene) {
    if (kind != PictureNode::kFetch && kind != PictureNode::kOut &&
        !value_node_.try_emplace(var->id(), static_cast<int>(scene->nodes.size())).second)
      return;
    PictureNode node;
    node.kind = kind;
    node.var = var;
    node.label = var->exported();
    node.tone = !var->type.IsFloat() ? Tone::kNone : IsLowPrecision(var->type.dtype) ? Tone::kLow : Tone::kFull;
    scene->nodes.push_back(std::move(node));
  }

  void AddInputs(int end, PictureScene* scene) {
    if (scene->parent < 0) return;
    for (int op = scene->first; op < end; ++op) {
      const absl::Span<const int> producers = flow_.Producers(op);
      for (size_t i = 0; i < producers.size(); ++i) {
        if (producers[i] < scene->first && producers[i] != Dataflow::kWeight) AddValue(PictureNode::kIn, flow_.ops[op]->inputs()[i], scene);
      }
    }
  }

  void AddOutputs(int end, PictureScene* scene) {
    if (scene->parent < 0) {
      for (const Var* fetch : program_.fetches) {
        const int from = flow_.LastWriter(*fetch, end);
        auto feed = value_node_.find(fetch->id());
        if (from >= 0) {
          scene->edges.push_back({node_of_[from], static_cast<int>(scene->nodes.size())});
        } else if (feed != value_node_.end()) {
          scene->edges.push_back({feed->second, static_cast<int>(scene->nodes.size())});
        }
        AddValue(PictureNode::kFetch, fetch, scene);
      }
      return;
    }
    for (int op = scene->first; op < end; ++op) {
      for (const Var* var : flow_.ops[op]->outputs()) {
        if (!flow_.ReadOutside(*var, end)) continue;
        scene->edges.push_back({node_of_[op], static_cast<int>(scene->nodes.size())});
        AddValue(PictureNode::kOut, var, scene);
      }
    }
  }

  const Program& program_;
  const PictureOptions options_;
  Dataflow flow_;
  std::vector<int> node_of_;                  // of the scene in work, by op
  absl::flat_hash_map<int, int> value_node_;  // the same, by Var::id of what comes from outside
  Picture picture_;
};

}  // namespace

absl::string_view Name(Tone tone) {
  static constexpr absl::string_view kNames[kNumTones] = {"none", "fp32", "low", "mixed", "cast"};
  return kNames[static_cast<int>(tone)];
}

Tone ToneOf(const Op& op) {
  if (op.marks.amp == AmpMark::kInserted) return Tone::kCast;
  bool low = false, full = false;
  for (const auto& vars : {op.outputs(), op.inputs()}) {
    for (const Var* var : vars) {
      if (var->type.IsFloat()) (IsLowPrecision(var->type.dtype) ? low : full) = true;
    }
    if (low) return Tone::kLow;
    if (full) return Tone::kFull;
  }
  return Tone::kNone;
}

Picture MakePicture(const Program& program, const PictureOptions& options) { return PictureMaker(program, options).Make(); }

}  // namespace ampc
