// fused_elementwise gives, bit for bit, what its steps give one after the other: drawn programs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kF16};

struct Case {
  Shape whole;
  DType dtype = DType::kF32;
  std::vector<Tensor> operands;
  std::vector<int32_t> axes;
  std::vector<Tensor> values;  // of the whole shape: operands, then steps
  std::vector<std::string> steps;
};

class Draw {
 public:
  explicit Draw(uint32_t seed) : rng_(seed) {}
  int Below(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  bool OneIn(int n) { return Below(n) == 0; }

  // Some are special.
  std::vector<float> Values(int64_t n) {
    const float special[] = {std::nanf(""), INFINITY, -INFINITY, -0.0f, 0.0f, 3e38f, 1e-39f};
    std::vector<float> values(static_cast<size_t>(n));
    for (float& v : values) v = OneIn(20) ? special[Below(7)] : static_cast<float>(Below(4001) - 2000) / 500.0f;
    return values;
  }

 private:
  std::mt19937 rng_;
};

int64_t Count(const Shape& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// `values` of `aligned` dims, repeated over `whole`.
std::vector<float> Spread(const std::vector<float>& values, const Shape& aligned, const Shape& whole) {
  std::vector<float> out(static_cast<size_t>(Count(whole)));
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), at = 0, size = 1;
    for (size_t d = whole.size(); d-- > 0; rest /= whole[d], size *= aligned[d]) at += aligned[d] == 1 ? 0 : rest % whole[d] * size;
    out[i] = values[static_cast<size_t>(at)];
  }
  return out;
}

// Of the whole shape, or one that repeats along some dims, or of a lower rank.
void AddOperand(Draw& draw, Case* c) {
  Shape aligned = c->whole, own;
  if (!c->operands.empty()) {
    for (int64_t& d : aligned) d = draw.OneIn(2) ? 1 : d;
  }
  size_t first = 0, last = aligned.size();
  while (!c->operands.empty() && draw.OneIn(2) && first < last && aligned[first] == 1) ++first;
  while (!c->operands.empty() && draw.OneIn(2) && last > first && aligned[last - 1] == 1) --last;
  own.assign(aligned.begin() + static_cast<int64_t>(first), aligned.begin() + static_cast<int64_t>(last));
  const DType dtype = draw.OneIn(3) ? kTypes[draw.Below(3)] : c->dtype;
  const std::vector<float> values = draw.Values(Count(aligned));
  c->operands.push_back(Low(dtype, own, values));
  c->axes.push_back(own.size() == aligned.size() || last == aligned.size() ? -1 : static_cast<int32_t>(first));
  c->values.push_back(Low(dtype, c->whole, Spread(c->operands.back().floats(), aligned, c->whole)));
}

struct Step {
  const char* op;
  bool two;
  const char* attrs;  // text
};
constexpr Step kSteps[] = {
    {"relu", false, ""},
    {"tanh", false, ""},
    {"sigmoid", false, ""},
    {"square", false, ""},
    {"abs", false, ""},
    {"exp", false, ""},
    {"scale", false, " scale=0.5 bias=1.25"},
    {"clip", false, " min=-1.0 max=1.5"},
    {"elementwise_add", true, ""},
    {"elementwise_sub", true, ""},
    {"elementwise_mul", true, ""},
    {"elementwise_div", true, ""},
    {"elementwise_max", true, ""},
    {"elementwise_min", true, ""},
    {"elementwise_mod", true, ""},
    {"sum", false, ""},   // of several, of one type
    {"cast", false, ""},  // to another type
};

// The last value, or any, of the type; -1: there is none.
int ValueOf(Draw& draw, const Case& c, DType dtype) {
  const int n = static_cast<int>(c.values.size()), first = draw.OneIn(2) ? n - 1 : draw.Below(n);
  for (int i = 0; i < n; ++i) {
    const int at = (first + n - i) % n;
    if (c.values[static_cast<size_t>(at)].dtype == dtype) return at;
  }
  return -1;
}

void AddStep(Draw& draw, Case* c) {
  const Step& s = kSteps[draw.Below(static_cast<int>(std::size(kSteps)))];
  const std::string op = s.op;
  const int n = static_cast<int>(c->values.size());
  std::vector<int> from = {draw.OneIn(2) ? n - 1 : draw.Below(n)};
  DType dtype = c->values[from[0]].dtype;
  for (int more = s.two ? 1 : op == "sum" ? draw.Below(16) : 0; more > 0; --more) from.push_back(ValueOf(draw, *c, dtype));
  OpRun run(op);
  for (size_t i = 0; i < from.size(); ++i) run.In(s.two && i == 1 ? "Y" : "X", c->values[from[i]]);
  if (op == "scale") run.Attr("scale", 0.5f).Attr("bias", 1.25f);
  if (op == "clip") run.Attr("min", -1.0f).Attr("max", 1.5f);
  if (op == "cast") {
    dtype = kTypes[draw.Below(3)];
    run.Attr("in_dtype", c->values[from[0]].dtype).Attr("out_dtype", dtype);
  }
  ASSERT_OK_AND_ASSIGN(const auto out, run.Out("Out").Run());
  const std::string operands = absl::StrJoin(from, ", ", [](std::string* to, int v) { absl::StrAppend(to, "v", v); });
  c->steps.push_back(
      absl::StrCat("v", n, " = ", op, op == "sum" ? "(X=[" : "(", operands, op == "sum" ? "])" : ")", s.attrs, " : ", Name(dtype), " [*]"));
  c->values.push_back(out[0]);
}

void ExpectSame(const Tensor& got, const Tensor& want) {
  const std::vector<float> a = got.floats(), b = want.floats();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << "element " << i << " is " << a[i] << ", needs " << b[i];
  }
}

TEST(Fused, DrawnProgramsGiveWhatTheirStepsGive) {
  const std::vector<Shape> shapes = {{7},          {1},        {700},           {3, 17},    {2, 5, 6, 7},
                                     {2, 3, 1000}, {4, 70, 9}, {1, 3, 40, 300}, {64, 1, 5}, {2, 0, 3}};
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    Case c;
    c.whole = shapes[seed % shapes.size()];
    c.dtype = kTypes[seed / 10 % 3];
    for (int i = draw.OneIn(8) ? 16 : 1 + draw.Below(4); i > 0; --i) AddOperand(draw, &c);
    for (int i = 2 + draw.Below(7); i > 0; --i) AddStep(draw, &c);
    if (HasFatalFailure()) return;
    const int operands = static_cast<int>(c.operands.size()), last = static_cast<int>(c.values.size()) - 1;
    std::vector<int32_t> results = {last};
    for (int more = draw.Below(4); more > 0; --more)
      results.insert(results.begin(), operands + draw.Below(static_cast<int>(c.steps.size())));
    std::vector<std::string> types;
    for (const int32_t v : results) types.emplace_back(Name(c.values[v].dtype));
    SCOPED_TRACE(absl::StrJoin(c.steps, "; "));
    OpRun fused("fused_elementwise");
    for (const Tensor& x : c.operands) fused.In("X", x);
    fused.Attr("steps", c.steps).Attr("results", results).Attr("axes", c.axes);
    fused.Attr("types", types);
    ASSERT_OK_AND_ASSIGN(const auto got, fused.Out("Out", static_cast<int>(results.size())).Run());
    for (size_t i = 0; i < results.size(); ++i) ExpectSame(got[i], c.values[results[i]]);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ampc::testing
