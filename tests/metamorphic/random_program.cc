#include "tests/metamorphic/random_program.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "tests/extreme/choices.h"

namespace ampc::metamorphic {
namespace {

using extreme::Choices;

constexpr char kRow[] = "f32 [4, 8]", kImage[] = "f32 [1, 4, 6, 6]";

// $0, $1: earlier values of the same type. The one result has that type.
struct Form {
  const char* type;  // of the op
  const char* text;
};
constexpr Form kPlain[] = {
    {"elementwise_add", "elementwise_add($0, $1)"},
    {"elementwise_sub", "elementwise_sub($0, $1)"},
    {"elementwise_mul", "elementwise_mul($0, $1)"},
    {"elementwise_max", "elementwise_max($0, $1)"},
    {"relu", "relu($0)"},
    {"sigmoid", "sigmoid($0)"},
    {"tanh", "tanh($0)"},
    {"gelu", "gelu($0)"},
    {"silu", "silu($0)"},
    {"leaky_relu", "leaky_relu($0) alpha=0.1"},
    {"hard_swish", "hard_swish($0)"},
    {"square", "square($0)"},
    {"abs", "abs($0)"},
    {"exp", "exp($0)"},
    {"softplus", "softplus($0)"},
    {"scale", "scale($0) scale=3.5 bias=-1.0"},
    {"scale", "scale($0) scale=200.0"},
    {"scale", "scale($0) scale=0.001"},
    {"clip", "clip($0) min=-4.0 max=6.0"},
    {"cast", "cast($0) in_dtype=f32 out_dtype=f32"},
};
constexpr Form kOfRows[] = {
    {"softmax", "softmax($0) axis=-1"},
    {"matmul_v2", "matmul_v2($0, w)"},
    {"matmul_v2", "matmul_v2($0, v)"},
    {"matmul_v2", "matmul_v2($0, v) trans_y=true"},
    {"elementwise_add", "elementwise_add($0, b)"},
    {"elementwise_mul", "elementwise_mul($0, b)"},
    {"elementwise_add", "elementwise_add($0, tiny)"},
    {"elementwise_add", "elementwise_add($0, mask)"},
    {"elementwise_div", "elementwise_div($0, length)"},
};
constexpr Form kOfImages[] = {
    {"conv2d", "conv2d(Input=$0, Filter=f) strides=[1, 1] paddings=[1, 1] dilations=[1, 1]"},
    {"depthwise_conv2d", "depthwise_conv2d(Input=$0, Filter=d) strides=[1, 1] paddings=[1, 1] dilations=[1, 1] groups=4"},
    {"pool2d", "pool2d($0) pooling_type=\"avg\" ksize=[3, 3] strides=[1, 1] paddings=[1, 1]"},
    {"pool2d", "pool2d($0) pooling_type=\"max\" ksize=[3, 3] strides=[1, 1] paddings=[1, 1]"},
};

class Writer {
 public:
  explicit Writer(uint64_t seed) : choices_(seed) {}

  RandomProgram Make() {
    Declare();
    const size_t ops = 6 + choices_.Below(24);
    for (size_t i = 0; i < ops; ++i) Step();
    Fetch();
    out_.text = absl::StrCat("program random version=1\n\nblock main {\n", declared_, body_, "}\n", blocks_);
    std::sort(out_.types.begin(), out_.types.end());
    out_.types.erase(std::unique(out_.types.begin(), out_.types.end()), out_.types.end());
    return std::move(out_);
  }

 private:
  std::string Numbers(size_t count, double size) {
    std::vector<std::string> numbers;
    for (size_t i = 0; i < count; ++i) {
      const double number = (static_cast<double>(choices_.Below(2001)) - 1000) / 1000 * size;
      const bool whole = std::fabs(number) < 1e5 && number == static_cast<int>(number);
      numbers.push_back(whole ? absl::StrCat(static_cast<int>(number), ".0") : absl::StrReplaceAll(absl::StrCat(number), {{"e+", "e"}}));
    }
    return absl::StrCat("[", absl::StrJoin(numbers, ", "), "]");
  }

  void Declare() {
    constexpr double kSizes[] = {0.02, 0.3, 1, 40};
    declared_ = absl::StrCat("  feed x : ", kRow, "\n  feed y : ", kRow, "\n  feed image : ", kImage, "\n");
    absl::StrAppend(&declared_, "  feed flag : bool [1]\n  const count : i64 [1] = [", 1 + choices_.Below(3), "]\n");
    absl::StrAppend(&declared_, "  const zero : i64 [1] = [0]\n  const two : f32 [] = 2.0\n");
    for (const char* name : {"w", "v"}) {
      absl::StrAppend(&declared_, "  const ", name, " : f32 [8, 8] = ", Numbers(64, choices_.Pick(kSizes)), "\n");
    }
    absl::StrAppend(&declared_, "  const b : f32 [8] = ", Numbers(8, choices_.Pick(kSizes)), "\n");
    absl::StrAppend(&declared_, "  const g : f32 [8] = ", Numbers(8, 2),
                    "\n  const tiny : f32 [] = ", choices_.Chance(50) ? "1e-12" : "1e-5", "\n");
    absl::StrAppend(&declared_, "  const mask : f32 [8] = [0.0, 0.0, -1e9, 0.0, -1e4, 0.0, 0.0, -1e9]\n  const length : f32 [] = 8.0\n");
    absl::StrAppend(&declared_, "  const f : f32 [4, 4, 3, 3] = ", Numbers(144, choices_.Pick(kSizes)), "\n");
    absl::StrAppend(&declared_, "  const d : f32 [4, 1, 3, 3] = ", Numbers(36, 1), "\n  const up : f32 [4, 8] = ", Numbers(32, 1), "\n");
    absl::StrAppend(&declared_, "  const bs : f32 [4] = ", Numbers(4, 2), "\n  const bb : f32 [4] = ", Numbers(4, 2), "\n");
    absl::StrAppend(&declared_, "  state bm : f32 [4] = ", Numbers(4, 1), "\n  state bv : f32 [4] = [1.0, 0.5, 2.0, 1.0]\n");
    absl::StrAppend(&declared_, "  state memory : ", kRow, " = ", Numbers(32, 1), "\n");
    rows_ = {"x", "y"};
    images_ = {"image"};
  }

  // An earlier value, mostly one of the last: some get several readers, few none.
  std::string Earlier(const std::vector<std::string>& values) {
    const size_t near = std::min<size_t>(values.size(), choices_.Chance(70) ? 3 : values.size());
    return values[values.size() - 1 - choices_.Below(near)];
  }
  std::string New() { return absl::StrCat("t", made_++); }

  void Statement(std::string* block, const std::string& name, const std::string& op, const std::string& type) {
    absl::StrAppend(block, "  ", name, " = ", op, " : ", type, "\n");
  }
  template <typename Forms>
  void OneOf(const Forms& forms, std::vector<std::string>* values, const char* type) {
    const Form& form = choices_.Pick(forms);
    out_.types.push_back(form.type);
    const std::string name = New();
    Statement(&body_, name, absl::Substitute(form.text, Earlier(*values), Earlier(*values)), type);
    values->push_back(name);
  }

  void Step() {
    switch (choices_.Below(13)) {
      case 0: return Normalise();
      case 1: return OwnNorm();
      case 2: return Branch();
      case 3: return Loop();
      case 4: return Remember();
      case 5: return Join();
      case 6: return OneOf(kOfImages, &images_, kImage);
      case 7: return OneOf(kPlain, &images_, kImage);
      case 8:
      case 9: return OneOf(kOfRows, &rows_, kRow);
      case 10: return choices_.Chance(50) ? ExtremeProduct() : ExtremeConv();
      default: return OneOf(kPlain, &rows_, kRow);
    }
  }

  void Normalise() {
    const std::string name = New();
    if (choices_.Chance(50)) {
      absl::StrAppend(&body_, "  layer_norm(X=", Earlier(rows_), ", Scale=g, Bias=b) -> Y=", name, " begin_norm_axis=1 : ", kRow, "\n");
      rows_.push_back(name);
      return;
    }
    absl::StrAppend(&body_, "  batch_norm(X=", Earlier(images_), ", Scale=bs, Bias=bb, Mean=bm, Variance=bv) -> Y=", name,
                    ", MeanOut<-bm, VarianceOut<-bv is_test=true : ", kImage, "\n");
    images_.push_back(name);
  }

  // x / sqrt(mean(x * x) + tiny)
  void OwnNorm() {
    const std::string x = Earlier(rows_), square = New(), mean = New(), sum = New(), root = New(), name = New();
    Statement(&body_, square, absl::StrCat("elementwise_mul(", x, ", ", x, ")"), kRow);
    Statement(&body_, mean, absl::StrCat("reduce_mean(", square, ") dim=[1] keep_dim=true"), "f32 [4, 1]");
    Statement(&body_, sum, absl::StrCat("elementwise_add(", mean, ", tiny)"), "f32 [4, 1]");
    const bool divides = choices_.Chance(50);
    Statement(&body_, root, absl::StrCat(divides ? "sqrt(" : "rsqrt(", sum, ")"), "f32 [4, 1]");
    Statement(&body_, name, absl::StrCat(divides ? "elementwise_div(" : "elementwise_mul(", x, ", ", root, ")"), kRow);
    rows_.push_back(name);
  }

  // One or two ops of a sub-block; the name of the last one's result.
  std::string Inside(std::string* block, const std::string& first) {
    std::string last = first;
    for (size_t i = 0; i < 1 + choices_.Below(2); ++i) {
      const Form& form = choices_.Chance(30) ? choices_.Pick(kOfRows) : choices_.Pick(kPlain);
      out_.types.push_back(form.type);
      const std::string name = New();
      Statement(block, name, absl::Substitute(form.text, last, first), kRow);
      last = name;
    }
    return last;
  }

  void Branch() {
    const std::string carried = absl::StrCat("c", made_), block = absl::StrCat("then", made_), x = Earlier(rows_);
    absl::StrAppend(&declared_, "  carry ", carried, " : ", kRow, "\n");
    absl::StrAppend(&body_, "  ", carried, " <- assign(", Earlier(rows_), ")\n  ", carried, " <- conditional_block(Cond=[flag], Input=[", x,
                    "]) is_scalar_condition=true sub_block=&", block, "\n");
    std::string inside;
    const std::string last = Inside(&inside, x);
    absl::StrAppend(&blocks_, "\nblock ", block, " parent=main {\n", inside, "  ", carried, " <- relu(", last, ")\n}\n");
    rows_.push_back(carried);
  }

  void Loop() {
    const std::string id = absl::StrCat(made_++), block = "body" + id, c = "s" + id, i = "i" + id, more = "m" + id;
    absl::StrAppend(&declared_, "  carry ", i, " : i64 [1]\n  carry ", c, " : ", kRow, "\n  carry ", more, " : bool [1]\n");
    absl::StrAppend(&body_, "  ", c, " <- assign(", Earlier(rows_), ")\n  ", i, " <- assign(zero)\n  ", more, " <- less_than(", i,
                    ", count)\n  ", i, ", ", c, ", ", more, " <- while(X=[count, x], Condition=", more, ") sub_block=&", block, "\n");
    std::string inside;
    const std::string last = Inside(&inside, c);
    absl::StrAppend(&blocks_, "\nblock ", block, " parent=main {\n", inside, "  ", c, " <- ",
                    choices_.Chance(50) ? "tanh(" : "elementwise_add(x, ", last, ")\n  ", i, " <- increment(", i, ")\n  ", more,
                    " <- less_than(", i, ", count)\n}\n");
    rows_.push_back(c);
  }

  // State is read, written, and read again.
  void Remember() {
    const std::string before = New(), after = New();
    Statement(&body_, before, absl::StrCat("elementwise_add(memory, ", Earlier(rows_), ")"), kRow);
    absl::StrAppend(&body_, "  memory <- assign(", Earlier(rows_), ")\n");
    Statement(&body_, after, absl::StrCat("elementwise_add(memory, ", before, ")"), kRow);
    rows_.push_back(after);
  }

  // A constant of the program's, of that size.
  std::string Stored(const std::string& type, size_t count, double size) {
    const std::string name = absl::StrCat("k", made_++);
    absl::StrAppend(&declared_, "  const ", name, " : f32 ", type, " = ", Numbers(count, size), "\n");
    return name;
  }
  double ExtremeSize() {
    constexpr double kSizes[] = {1e-12, 1e-10, 1e-8, 1e5, 1e6, 1e8, 1e12};
    return choices_.Pick(kSizes);
  }

  // Weights of any size, and what brings the values back to an ordinary one.
  void ExtremeProduct() {
    const double size = ExtremeSize();
    std::string last = New();
    Statement(&body_, last, absl::StrCat("matmul_v2(", Earlier(rows_), ", ", Stored("[8, 8]", 64, size), ")"), kRow);
    const auto apply = [&](const std::string& op, const std::string& operand) {
      const std::string name = New();
      Statement(&body_, name, absl::StrCat(op, "(", last, operand.empty() ? "" : ", ", operand, ")"), kRow);
      last = name;
    };
    if (choices_.Chance(50)) apply("elementwise_add", Stored("[8]", 8, size));
    if (choices_.Chance(50)) apply("relu", "");
    switch (choices_.Below(3)) {
      case 0: apply("elementwise_mul", Stored("[8]", 8, 1 / size)); break;
      case 1: apply("elementwise_div", Stored("[1]", 1, size)); break;
      default: apply("matmul_v2", Stored("[8, 8]", 64, 1 / size));
    }
    out_.types.push_back("matmul_v2");
    rows_.push_back(last);
  }

  void ExtremeConv() {
    const double size = ExtremeSize();
    const std::string conv = New(), pool = New(), name = New();
    Statement(&body_, conv,
              absl::StrCat("conv2d(Input=", Earlier(images_), ", Filter=", Stored("[4, 4, 3, 3]", 144, size),
                           ") strides=[1, 1] paddings=[1, 1] dilations=[1, 1]"),
              kImage);
    Statement(&body_, pool, absl::StrCat("pool2d(", conv, ") pooling_type=\"avg\" ksize=[3, 3] strides=[1, 1] paddings=[1, 1]"), kImage);
    absl::StrAppend(&declared_, "  const v", name, " : f32 [4] = [1.0, 0.5, 2.0, 1.0]\n");
    absl::StrAppend(&body_, "  batch_norm(X=", pool, ", Scale=", Stored("[4]", 4, 1 / size), ", Bias=bb, Mean=", Stored("[4]", 4, size),
                    ", Variance=v", name, ") -> Y=", name, " is_test=true : ", kImage, "\n");
    out_.types.push_back("conv2d");
    images_.push_back(name);
  }

  // An image's means become part of each row.
  void Join() {
    const std::string means = New(), up = New(), name = New();
    Statement(&body_, means, absl::StrCat("reduce_mean(", Earlier(images_), ") dim=[2, 3]"), "f32 [1, 4]");
    Statement(&body_, up, absl::StrCat("matmul_v2(", means, ", up)"), "f32 [1, 8]");
    Statement(&body_, name, absl::StrCat("elementwise_add(", Earlier(rows_), ", ", up, ")"), kRow);
    rows_.push_back(name);
  }

  void Fetch() {
    absl::StrAppend(&body_, "  fetch ", rows_.back(), "\n");
    if (images_.size() > 1) absl::StrAppend(&body_, "  fetch ", images_.back(), "\n");
    const std::string other = rows_[rows_.size() / 2];
    if (other != rows_.back() && other != "x" && other != "y") absl::StrAppend(&body_, "  fetch ", other, "\n");
  }

  Choices choices_;
  RandomProgram out_;
  std::string declared_, body_, blocks_;
  std::vector<std::string> rows_, images_;
  int made_ = 0;
};

}  // namespace

RandomProgram MakeRandomProgram(uint64_t seed) { return Writer(seed).Make(); }

}  // namespace ampc::metamorphic
