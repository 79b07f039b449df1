// Random programs around the patterns that the plan rewrites compute what they compute unfused: with values that several ops read, fetched
// ones among them, and ops that keep a pattern from fitting.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "runtime/session.h"
#include "tests/passes/random_text.h"
#include "tests/testlib/random_weights.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc {
namespace {

using Text = testing::RandomText;

constexpr int kBatch = 2;

// Convolutions of one dimension as exporters write them, and what stands between them.
class Lines {
 public:
  explicit Lines(std::mt19937& random) : t_(random), axis_(t_.Pick(3) == 0 ? 3 : 2) {}

  std::string Make() {
    t_.Feed("x", {kBatch, 3, 16});
    values_.push_back({"x", 3, 16});
    Convolve();
    for (int i = 0; i < 12; ++i) Step();
    for (const Value& v : values_) {
      if (&v == &values_.back() || t_.Pick(6) == 0) t_.Fetch(v.name);
    }
    return t_.Whole();
  }

 private:
  struct Value {
    std::string name;
    int c, l;
    std::vector<int> dims() const { return {kBatch, c, l}; }
  };

  std::vector<int> Image(int c, int l) const { return axis_ == 2 ? std::vector<int>{kBatch, c, 1, l} : std::vector<int>{kBatch, c, l, 1}; }
  const Value& Any() { return t_.Pick(3) == 0 ? values_[static_cast<size_t>(t_.Pick(static_cast<int>(values_.size())))] : values_.back(); }
  void Add(absl::string_view call, absl::string_view attrs, int c, int l) { values_.push_back({t_.Op(call, attrs, {kBatch, c, l}), c, l}); }

  void Convolve() {
    const Value v = Any();
    if (v.l < 3) return;
    const int c = 1 + t_.Pick(6);
    const std::string axes = absl::StrCat("axes=[", axis_, "]");
    const std::string image = t_.Op(absl::StrCat("unsqueeze2(", v.name, ")"), axes, Image(v.c, v.l));
    const std::string w = t_.Param(axis_ == 2 ? std::vector<int>{c, v.c, 1, 3} : std::vector<int>{c, v.c, 3, 1});
    const std::string y = t_.Op(absl::StrCat("conv2d(", image, ", ", w, ")"), "", Image(c, v.l - 2));
    if (t_.Pick(4) == 0) t_.Fetch(y);
    Add(absl::StrCat("squeeze2(", y, ")"), axes, c, v.l - 2);
  }

  void Step() {
    const Value v = Any();
    switch (t_.Pick(10)) {
      case 0: return Convolve();
      case 1:
      case 2: return Add(absl::StrCat(t_.Of({"relu", "tanh", "sigmoid", "gelu", "hard_swish"}), "(", v.name, ")"), "", v.c, v.l);
      case 3: return WithOperand(v);
      case 4: return WithValue(v);
      case 5: return Normalize(v);
      case 6: return Cut(v);
      case 7: return Join(v);
      case 8: return Turn(v);
      default: return Add(absl::StrCat("softmax(", v.name, ")"), "", v.c, v.l);
    }
  }

  void WithOperand(const Value& v) {
    const std::string op = t_.Of({"elementwise_add", "elementwise_mul", "elementwise_sub"});
    std::string other, attrs;
    switch (t_.Pick(7)) {
      case 0: other = t_.Number(); break;
      case 1: other = t_.Param({v.c, 1}); break;
      case 2: other = t_.Param({v.l}); break;
      case 3: other = t_.Param({v.c, v.l}); break;
      case 4:
        other = t_.Param({v.c});
        attrs = "axis=1";
        break;
      case 5:
        other = t_.Param({v.l});
        attrs = "axis=2";
        break;
      default: other = t_.Param({kBatch}); attrs = "axis=0";
    }
    const bool first = attrs.empty() && t_.Coin();
    Add(absl::StrCat(op, "(", first ? other : v.name, ", ", first ? v.name : other, ")"), attrs, v.c, v.l);
  }

  void WithValue(const Value& v) {
    for (const Value& other : values_) {
      if (other.c == v.c && other.l == v.l && t_.Coin())
        return Add(absl::StrCat("elementwise_add(", other.name, ", ", v.name, ")"), "", v.c, v.l);
    }
    Add(absl::StrCat("elementwise_mul(", v.name, ", ", v.name, ")"), "", v.c, v.l);
  }

  void Normalize(const Value& v) {
    if (t_.Coin()) return Add(absl::StrCat("prelu(", v.name, ", ", t_.Param({v.c}), ")"), "mode=\"channel\"", v.c, v.l);
    const std::vector<int> c = {v.c};
    Add(absl::StrCat("batch_norm(", v.name, ", ", t_.Param(c), ", ", t_.Param(c), ", ", t_.Param(c), ", ", t_.Param(c, "v"), ")"),
        "is_test=true", v.c, v.l);
  }

  void Cut(const Value& v) {
    if (v.l < 4) return;
    const bool channels = v.c > 1 && t_.Coin();
    const std::string axis = channels ? t_.Of({"1", "-2"}) : t_.Of({"2", "-1"});
    Add(absl::StrCat("slice(", v.name, ")"), absl::StrCat("axes=[", axis, "] starts=[1] ends=[100]"), v.c - (channels ? 1 : 0),
        v.l - (channels ? 0 : 1));
  }

  void Join(const Value& v) {
    for (const Value& other : values_) {
      if (other.l == v.l && v.c + other.c < 12 && t_.Coin())
        return Add(absl::StrCat("concat(", v.name, ", ", other.name, ")"), absl::StrCat("axis=", t_.Of({"1", "-2"})), v.c + other.c, v.l);
    }
  }

  // A permutation, with something between it and the one back.
  void Turn(const Value& v) {
    std::string turned = t_.Op(absl::StrCat("transpose2(", v.name, ")"), "axis=[0, 2, 1]", {kBatch, v.l, v.c});
    if (t_.Coin()) turned = t_.Op(absl::StrCat("tanh(", turned, ")"), "", {kBatch, v.l, v.c});
    if (t_.Pick(4) == 0) t_.Fetch(turned);
    Add(absl::StrCat("transpose2(", turned, ")"), "axis=[0, 2, 1]", v.c, v.l);
  }

  Text t_;
  const int axis_;  // of the images, that has size 1
  std::vector<Value> values_;
};

// Images of several sizes that are resized, joined and convolved.
class Pyramids {
 public:
  explicit Pyramids(std::mt19937& random) : t_(random) {}

  std::string Make() {
    t_.Feed("x", {kBatch, 3, 12, 12});
    std::vector<std::string> joined;
    int channels = 0;
    for (int i = 0; i < 2 + t_.Pick(3); ++i) {
      const int stride = t_.Of({"1", "2", "4", "6"})[0] - '0', c = 2 + t_.Pick(6), size = 12 / stride;
      std::string v = Convolve("x", 3, c, 12, stride);
      const bool read = t_.Pick(8) == 0;
      if (size < 12 || t_.Pick(4) == 0) v = Resize(v, c, 12);
      if (read) t_.Fetch(t_.Op(absl::StrCat("tanh(", v, ")"), "", {kBatch, c, 12, 12}));
      joined.push_back(v);
      channels += c;
    }
    const std::string all = t_.Op(absl::StrCat("concat(", absl::StrJoin(joined, ", "), ")"), "axis=1", {kBatch, channels, 12, 12});
    if (t_.Pick(8) == 0) t_.Fetch(all);
    for (int i = 0; i < 1 + t_.Pick(2); ++i) Read(all, channels);
    return t_.Whole();
  }

 private:
  std::string Convolve(const std::string& x, int in, int out, int size, int stride, bool bias = false, bool wide = false) {
    std::string call = absl::StrCat("conv2d(", x, ", ", t_.Param(wide ? std::vector<int>{out, in, 3, 3} : std::vector<int>{out, in, 1, 1}));
    if (bias) absl::StrAppend(&call, ", ", t_.Param({out}));
    return t_.Op(absl::StrCat(call, ")"), absl::StrCat("strides=[", stride, ", ", stride, "]", wide ? " paddings=[1, 1]" : ""),
                 {kBatch, out, size / stride, size / stride});
  }

  std::string Resize(const std::string& x, int c, int to) {
    const std::string how = t_.Of({"bilinear", "nearest", "bicubic"});
    return t_.Op(
        absl::StrCat(how, "_interp_v2(", x, ")"),
        absl::StrCat("out_h=", to, " out_w=", to, " align_corners=", t_.Of({"true", "false"}), how == "bilinear" ? " align_mode=0" : ""),
        {kBatch, c, to, to});
  }

  void Read(const std::string& x, int in) {
    const int out = 1 + t_.Pick(4);
    const bool wide = t_.Pick(6) == 0;
    std::string y = Convolve(x, in, out, 12, 1, t_.Coin(), wide);
    const std::vector<int> dims = {kBatch, out, 12, 12}, c = {out};
    if (t_.Coin()) {
      y = t_.Op(absl::StrCat("batch_norm(", y, ", ", t_.Param(c), ", ", t_.Param(c), ", ", t_.Param(c), ", ", t_.Param(c, "v"), ")"),
                "is_test=true", dims);
    }
    if (t_.Coin()) y = t_.Op(absl::StrCat("relu(", y, ")"), "", dims);
    t_.Fetch(y);
  }

  Text t_;
};

// Attention, of windows perhaps, and what keeps it from being one.
class Attentions {
 public:
  explicit Attentions(std::mt19937& random) : t_(random) {}

  std::string Make() {
    t_.Feed("x", {kBatch * kWindows, kPositions, kWidth});
    for (int i = 0; i < 2; ++i) Attend();
    return t_.Whole();
  }

 private:
  static constexpr int kWindows = 3, kHeads = 2, kPositions = 4, kWidth = 6, kHead = kWidth / kHeads, kAll = kBatch * kWindows;

  std::string Heads() {
    const std::string p = t_.Op(absl::StrCat("matmul_v2(x, ", t_.Param({kWidth, kWidth}), ")"), "", {kAll, kPositions, kWidth});
    const std::string r = t_.Op(absl::StrCat("reshape2(", p, ")"), absl::StrCat("shape=[0, 0, ", kHeads, ", ", kHead, "]"),
                                {kAll, kPositions, kHeads, kHead});
    return t_.Op(absl::StrCat("transpose2(", r, ")"), "axis=[0, 2, 1, 3]", {kAll, kHeads, kPositions, kHead});
  }

  std::string Add(const std::string& scores, const std::vector<int>& dims, const std::vector<int>& mask) {
    const std::string m = Kept(t_.Param(mask), mask);
    return t_.Op(
        t_.Coin() ? absl::StrCat("elementwise_add(", scores, ", ", m, ")") : absl::StrCat("elementwise_add(", m, ", ", scores, ")"), "",
        dims);
  }

  // The value, or a carry that has it until the scores are there.
  std::string Kept(const std::string& value, const std::vector<int>& dims) {
    if (t_.Pick(5) > 0) return value;
    const std::string carry = t_.Carry(value, dims);
    if (t_.Coin()) kept_.push_back(carry);
    return carry;
  }

  std::string Turned(std::string k) {
    const std::vector<int> dims = {kAll, kHeads, kHead, kPositions};
    if (t_.Pick(4) == 0) k = t_.Op(absl::StrCat("elementwise_mul(", k, ", ", t_.Number(), ")"), "", {kAll, kHeads, kPositions, kHead});
    k = t_.Op(absl::StrCat("transpose2(", k, ")"), t_.Coin() ? "axis=[0, 1, 3, 2]" : "axis=[0, -3, -1, -2]", dims);
    return t_.Pick(4) > 0 ? k : t_.Op(absl::StrCat("elementwise_mul(", k, ", ", t_.Number(), ")"), "", dims);
  }

  void Attend() {
    const std::vector<int> dims = {kAll, kHeads, kPositions, kPositions}, windows = {kBatch, kWindows, kHeads, kPositions, kPositions},
                           heads = {kAll, kHeads, kPositions, kHead};
    const std::string q = Kept(Heads(), heads), k = Kept(Heads(), heads);
    const bool lie = t_.Coin();  // keys are turned by an op of their own
    std::string s = t_.Op(absl::StrCat("matmul_v2(", q, ", ", lie ? Turned(k) : k, ")"), lie ? "" : "trans_y=true", dims);
    if (t_.Coin()) s = t_.Op(absl::StrCat("elementwise_mul(", s, ", ", t_.Number(), ")"), "", dims);
    if (t_.Pick(3) > 0) {
      s = Add(s, dims,
              t_.Coin() ? std::vector<int>{1, kHeads, kPositions, kPositions} : std::vector<int>{t_.Coin() ? kAll : 1, 1, 1, kPositions});
    }
    if (t_.Pick(8) == 0) t_.Fetch(s);
    if (t_.Pick(4) > 0) {
      s = t_.Op(absl::StrCat("reshape2(", s, ")"),
                absl::StrCat("shape=[", kBatch, ", ", kWindows, ", ", kHeads, ", ", kPositions, ", ", kPositions, "]"), windows);
      s = Add(s, windows,
              t_.Coin() ? std::vector<int>{1, kWindows, 1, kPositions, kPositions} : std::vector<int>{kBatch, 1, kHeads, 1, kPositions});
      if (t_.Pick(8) == 0) t_.Fetch(s);
      s = t_.Op(absl::StrCat("reshape2(", s, ")"), absl::StrCat("shape=[-1, ", kHeads, ", ", kPositions, ", ", kPositions, "]"), dims);
    }
    s = t_.Op(absl::StrCat("softmax(", s, ")"), absl::StrCat("axis=", t_.Pick(6) == 0 ? 2 : 3), dims);
    if (t_.Pick(8) == 0) t_.Fetch(s);
    const std::string v = Heads();
    for (const std::string& carry : kept_) t_.Overwrite(carry, absl::StrCat("scale(", carry, ")"), "scale=3.0");
    kept_.clear();
    std::string y = t_.Op(absl::StrCat("matmul_v2(", s, ", ", v, ")"), "", heads);
    t_.Fetch(t_.Op(absl::StrCat("transpose2(", y, ")"), "axis=[0, 2, 1, 3]", {kAll, kPositions, kHeads, kHead}));
  }

  Text t_;
  std::vector<std::string> kept_;  // carries that are overwritten before the second product
};

// Normalisations of groups of channels as exporters write them, and what looks like one.
class Groups {
 public:
  explicit Groups(std::mt19937& random) : t_(random) {}

  std::string Make() {
    t_.Feed("x", {kBatch, 3, kSize, kSize});
    std::string x = "x";
    for (int in = 3, i = 0; i < 3; ++i) {
      const int c = 4 * (1 + t_.Pick(4));
      x = t_.Op(absl::StrCat("conv2d(", x, ", ", t_.Param({c, in, 1, 1}), ")"), "", {kBatch, c, kSize, kSize});
      x = Normalize(x, c);
      in = c;
    }
    t_.Fetch(x);
    return t_.Whole();
  }

 private:
  static constexpr int kSize = 6;

  std::string Normalize(const std::string& x, int c) {
    const bool cuts_images = t_.Pick(8) == 0;
    const int images = cuts_images ? 2 * kBatch : kBatch, groups = t_.Coin() ? 2 : 4;
    const std::vector<int> parts = {images, groups, kBatch * c * kSize * kSize / images / groups}, dims = {kBatch, c, kSize, kSize};
    const std::string first = cuts_images || t_.Coin() ? absl::StrCat(images) : "0";
    const std::string a = t_.Op(absl::StrCat("reshape2(", x, ")"), absl::StrCat("shape=[", first, ", ", groups, ", -1]"), parts);
    const std::string factors = t_.Coin() ? absl::StrCat(", ", t_.Param({groups}), ", ", t_.Param({groups})) : "";
    const std::string n = t_.Op(absl::StrCat("instance_norm(", a, factors, ")"), "", parts);
    for (const std::string& part : {a, n}) {
      if (t_.Pick(10) == 0) t_.Fetch(part);
    }
    std::string y = t_.Op(absl::StrCat("reshape2(", n, ")"), absl::StrCat("shape=[", kBatch, ", ", c, ", ", kSize, ", ", kSize, "]"), dims);
    for (int i = t_.Pick(4); i > 0; --i) {
      if (t_.Pick(8) == 0) t_.Fetch(y);
      const std::string op = t_.Of({"elementwise_mul", "elementwise_add"});
      const std::string by = t_.Pick(5) == 0 ? t_.Param({kSize}) : t_.Pick(3) == 0 ? t_.Number() : t_.Param({c, 1, 1});
      const bool left = t_.Coin();
      y = t_.Op(absl::StrCat(op, "(", left ? by : y, ", ", left ? y : by, ")"), "", dims);
    }
    if (t_.Coin()) return t_.Op(absl::StrCat("prelu(", y, ", ", t_.Param({c}), ")"), "mode=\"channel\"", dims);
    return t_.Op(absl::StrCat("relu(", y, ")"), "", dims);
  }

  Text t_;
};

// Both sessions give the same, as far as a type of `dtype` can.
void ExpectSame(const std::string& text, const Dims& x, unsigned seed) {
  SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", text));
  std::mt19937 random(seed);
  const Program program = testing::WithRandomWeights(text, random);
  ASSERT_OK_AND_ASSIGN(const Session strict, Session::Create(program.Clone(), {.threads = 1, .strict_rounding = true}));
  ASSERT_OK_AND_ASSIGN(const Session fused, Session::Create(program.Clone(), {.threads = 1}));
  const TensorMap feeds = {{"x", testing::RandomTensor(random, x, -1.0f, 1.0f)}};
  ASSERT_OK_AND_ASSIGN(const TensorMap needed, strict.Run(feeds));
  ASSERT_OK_AND_ASSIGN(const TensorMap found, fused.Run(feeds));
  const testing::Tolerance tolerance = testing::ToleranceFor(DType::kF32);
  for (const auto& [name, tensor] : needed) {
    const absl::Span<const float> a = found.at(name).values<float>(), b = tensor.values<float>();
    ASSERT_EQ(found.at(name).dims(), tensor.dims()) << name;
    double largest = 1;
    for (float v : b) largest = std::max(largest, static_cast<double>(std::abs(v)));
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance.abs + tolerance.rel * largest) << name << " " << i;
  }
}

TEST(RandomFusion, ConvolutionsOfOneDimension) {
  for (unsigned seed = 1; seed <= 150 && !::testing::Test::HasFatalFailure(); ++seed) {
    std::mt19937 random(seed);
    ExpectSame(Lines(random).Make(), {kBatch, 3, 16}, seed);
  }
}

TEST(RandomFusion, ConvolutionsOfEnlargedImages) {
  for (unsigned seed = 1; seed <= 100 && !::testing::Test::HasFatalFailure(); ++seed) {
    std::mt19937 random(seed);
    ExpectSame(Pyramids(random).Make(), {kBatch, 3, 12, 12}, seed);
  }
}

TEST(RandomFusion, NormsOfGroups) {
  for (unsigned seed = 1; seed <= 100 && !::testing::Test::HasFatalFailure(); ++seed) {
    std::mt19937 random(seed);
    ExpectSame(Groups(random).Make(), {kBatch, 3, 6, 6}, seed);
  }
}

TEST(RandomFusion, Attention) {
  for (unsigned seed = 1; seed <= 100 && !::testing::Test::HasFatalFailure(); ++seed) {
    std::mt19937 random(seed);
    ExpectSame(Attentions(random).Make(), {kBatch * 3, 4, 6}, seed);
  }
}

}  // namespace
}  // namespace ampc
