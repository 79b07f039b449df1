#include "tools/picture/picture.h"

#include <algorithm>

#include "graph/text/parser.h"
#include "tests/picture/programs.h"
#include "tests/testlib/bare_program.h"

namespace ampc {
namespace {

using testing::BareProgram;
using testing::kBranch;
using testing::Tower;

std::vector<std::string> Labels(const PictureScene& scene) {
  std::vector<std::string> labels;
  for (const PictureNode& node : scene.nodes) labels.push_back(node.label);
  return labels;
}

// Every op is shown once by the scenes below `index`, counting each of equal blocks.
int OpsBelow(const Picture& picture, int index) {
  int ops = 0;
  for (const PictureNode& node : picture.scenes[index].nodes) {
    if (node.kind == PictureNode::kOp) ++ops;
    if (node.kind == PictureNode::kRepeat || node.kind == PictureNode::kSection) ops += node.count * OpsBelow(picture, node.children[0]);
  }
  return ops;
}

TEST(Picture, SmallGraphsAreDrawnAsTheyAre) {
  const Program program = BareProgram(Tower(2));
  const Picture picture = MakePicture(program);
  ASSERT_EQ(picture.scenes.size(), 1u);
  EXPECT_EQ(picture.scenes[0].nodes.size(), 1 + 14 + 1u);
  EXPECT_EQ(Labels(picture.scenes[0]).front(), "x");
  EXPECT_EQ(Labels(picture.scenes[0]).back(), "y");
  EXPECT_EQ(picture.scenes[0].edges.size(), 1 + 2 * 7 + 1 + 1u);
}

TEST(Picture, EqualBlocksBecomeOneNode) {
  const Program program = BareProgram(Tower(12));
  const Picture picture = MakePicture(program);
  ASSERT_EQ(picture.scenes.size(), 2u);
  EXPECT_EQ(Labels(picture.scenes[0]), (std::vector<std::string>{"x", "exp", "matmul_v2, tanh, …", "softmax", "y"}));
  const PictureNode& repeat = picture.scenes[0].nodes[2];
  EXPECT_EQ(repeat.kind, PictureNode::kRepeat);
  EXPECT_EQ(repeat.count, 12);
  EXPECT_EQ(repeat.num_ops, 72);
  EXPECT_EQ(repeat.first, 1);
  EXPECT_EQ(repeat.tones[static_cast<int>(Tone::kFull)], 72);
  EXPECT_EQ(picture.scenes[0].edges, (std::vector<PictureEdge>{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  // One of them: the value that comes in is read twice.
  const PictureScene& block = picture.scenes[repeat.children[0]];
  EXPECT_EQ(Labels(block), (std::vector<std::string>{"v0", "matmul_v2", "relu", "matmul_v2", "tanh", "sigmoid", "elementwise_add", "v1"}));
  EXPECT_EQ(block.nodes.front().kind, PictureNode::kIn);
  EXPECT_EQ(block.nodes.back().kind, PictureNode::kOut);
  EXPECT_EQ(block.edges.size(), 8u);
}

TEST(Picture, BlocksThatAreWiredOtherwiseStayApart) {
  std::string text = Tower(12);
  // The sum of the sixth block adds its own product instead of what came in.
  const std::string sum = "v6 = elementwise_add(v5, e5)";
  text.replace(text.find(sum), sum.size(), "v6 = elementwise_add(a5, e5)");
  const Program program = BareProgram(text);
  const Picture picture = MakePicture(program);
  std::vector<int> counts;
  for (const PictureNode& node : picture.scenes[0].nodes) {
    if (node.kind == PictureNode::kRepeat) counts.push_back(node.count);
  }
  EXPECT_EQ(counts, (std::vector<int>{5, 6}));
  EXPECT_EQ(OpsBelow(picture, 0), 74);
}

TEST(Picture, GroupingCanBeSwitchedOff) {
  const Program program = BareProgram(Tower(12));
  const Picture picture = MakePicture(program, {.group = false, .max_nodes = 0});
  ASSERT_EQ(picture.scenes.size(), 1u);
  EXPECT_EQ(picture.scenes[0].nodes.size(), 1 + 74 + 1u);
}

TEST(Picture, LongGraphsAreSplitIntoSections) {
  const Program program = BareProgram(Tower(200));
  const Picture picture = MakePicture(program, {.group = false, .max_nodes = 50});
  for (const PictureScene& scene : picture.scenes) {
    int ops = 0;
    for (const PictureNode& node : scene.nodes) ops += node.first >= 0 ? 1 : 0;
    EXPECT_LE(ops, 50);
  }
  EXPECT_EQ(OpsBelow(picture, 0), 1202);
  // Between two blocks one value lives; inside of a block there are two.
  const std::vector<PictureNode>& nodes = picture.scenes[0].nodes;
  for (size_t i = 2; i + 1 < nodes.size(); ++i) {
    if (nodes[i].kind == PictureNode::kSection) {
      EXPECT_EQ((nodes[i].first - 1) % 6, 0) << nodes[i].first;
    }
  }
}

TEST(Picture, ControlFlowHasScenesOfItsOwn) {
  const Program program = *ParseProgram(kBranch);
  const Picture picture = MakePicture(program);
  ASSERT_EQ(picture.scenes.size(), 2u);
  const auto& nodes = picture.scenes[0].nodes;
  const auto branch = std::find_if(nodes.begin(), nodes.end(), [](const PictureNode& n) { return n.label == "conditional_block"; });
  ASSERT_NE(branch, nodes.end());
  EXPECT_EQ(branch->children, std::vector<int>{1});
  EXPECT_EQ(picture.scenes[1].title, "conditional_block then");
  EXPECT_EQ(picture.scenes[1].parent, 0);
  EXPECT_EQ(Labels(picture.scenes[1]), (std::vector<std::string>{"g", "matmul_v2", "y"}));
}

TEST(Picture, TonesSayInWhatAnOpComputes) {
  const Program program = *ParseProgram(kBranch);
  const Picture picture = MakePicture(program);
  std::vector<Tone> tones;
  for (const Op* op : picture.ops) tones.push_back(ToneOf(*op));
  EXPECT_EQ(tones, (std::vector<Tone>{Tone::kCast, Tone::kLow, Tone::kFull, Tone::kLow, Tone::kLow, Tone::kLow}));
}

TEST(Picture, OfNothing) {
  const Program program = BareProgram("feed x : f32 [1]\nfetch x\n");
  const Picture picture = MakePicture(program);
  ASSERT_EQ(picture.scenes.size(), 1u);
  EXPECT_EQ(picture.scenes[0].nodes.size(), 2u);
  EXPECT_EQ(picture.scenes[0].edges, (std::vector<PictureEdge>{{0, 1}}));
}

}  // namespace
}  // namespace ampc
