// Picture: a program as something to draw. Repeated blocks are folded into one node, long stretches into sections, and what is
// inside of a node is a scene of its own.
//
//   conv2d relu conv2d relu conv2d relu softmax     ->     scene 0: (conv2d relu) x3, softmax     scene 1: conv2d, relu
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/program.h"

namespace ampc {

// In what an op computes: the colour of a node.
enum class Tone : uint8_t {
  kNone /* no floats */,
  kFull /* fp32 or wider */,
  kLow /* fp16 or bf16 */,
  kMixed,
  kCast /* inserted by AMP */
};
inline constexpr int kNumTones = 5;
absl::string_view Name(Tone tone);  // "none", "fp32", "low", "mixed", "cast"
// By its float results, without any by its float operands.
Tone ToneOf(const Op& op);

struct PictureNode {
  enum Kind : uint8_t {
    kOp,
    kRepeat,   // `count` equal blocks that follow each other; children[0] shows one of them
    kSection,  // a stretch of a long program; children[0] shows it
    kFeed,
    kFetch,
    kIn,   // in a scene that is part of another: a value from outside
    kOut,  // a value that is read outside
  };
  Kind kind = kOp;
  Tone tone = Tone::kNone;
  std::string label;         // op type, or name of the value, or what a group consists of
  const Var* var = nullptr;  // of a feed, fetch, in or out; of an op its first result, null without one
  int first = -1;            // its first op: index into Picture::ops
  int num_ops = 0;           // of all blocks; 1 for an op
  int count = 1;
  std::vector<int> children;              // scenes; of an op, its sub-blocks
  std::array<int, kNumTones> tones = {};  // how many of its ops have which tone
};

struct PictureEdge {
  int from = 0;  // index into nodes; from < to
  int to = 0;
  friend bool operator==(const PictureEdge&, const PictureEdge&) = default;
};

struct PictureScene {
  std::string title;
  int parent = -1;  // scene
  int first = 0;    // the ops that it shows: of the first block, where it belongs to a repeat
  int num_ops = 0;
  std::vector<PictureNode> nodes;  // a producer stands before its consumers
  std::vector<PictureEdge> edges;  // without weights
};

struct PictureOptions {
  bool group = true;    // fold repeated blocks
  int max_nodes = 240;  // of a scene; more are split into sections. 0 for no limit
};

struct Picture {
  std::vector<const Op*> ops;        // in program order; those of `program`, which has to outlive the picture
  std::vector<PictureScene> scenes;  // [0] is the main block
};

// Deterministic, and linear in the size of the program.
Picture MakePicture(const Program& program, const PictureOptions& options = {});

}  // namespace ampc
