// Ops that only move values, against index arithmetic, for each element size.
#include <limits>
#include <numeric>

#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int32_t>;

int64_t Count(const Shape& dims) { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }

// 0, 1, 2, ... in the type.
template <typename T>
Tensor Iota(const Shape& dims) {
  std::vector<T> v(Count(dims));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<T>(i);
  return Of<T>(dims, v);
}

// Calls f(index) for every index of `dims`, row-major.
template <typename F>
void ForEachIndex(const Shape& dims, F f) {
  Shape at(dims.size(), 0);
  for (int64_t i = 0; i < Count(dims); ++i) {
    f(at);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
}

int64_t Position(const Shape& dims, const Shape& at) {
  int64_t p = 0;
  for (size_t d = 0; d < dims.size(); ++d) p = p * dims[d] + at[d];
  return p;
}

// The result that an index must give: the position in the operand.
template <typename From>
std::vector<int64_t> Expected(const Shape& in, const Shape& out, From from) {
  std::vector<int64_t> want;
  ForEachIndex(out, [&](const Shape& at) { want.push_back(Position(in, from(at))); });
  return want;
}

struct PermCase {
  Shape dims;
  Ints perm;
};

class Transpose : public ::testing::TestWithParam<PermCase> {};

template <typename T>
void CheckTranspose(const PermCase& c) {
  Shape out;
  for (int a : c.perm) out.push_back(c.dims[a]);
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("transpose2").In("X", Iota<T>(c.dims)).Attr("axis", c.perm).Out("Out").Out("XShape").Run());
  ASSERT_EQ(Shape(r[0].dims().begin(), r[0].dims().end()), out);
  const std::vector<int64_t> want = Expected(c.dims, out, [&](const Shape& at) {
    Shape from(at.size());
    for (size_t i = 0; i < at.size(); ++i) from[c.perm[i]] = at[i];
    return from;
  });
  const auto found = r[0].stored.template values<T>();
  for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(found[i], static_cast<T>(want[i])) << i;
}

TEST_P(Transpose, AgreesWithIndexArithmetic) {
  CheckTranspose<float>(GetParam());
  CheckTranspose<uint8_t>(GetParam());
  CheckTranspose<int16_t>(GetParam());
  CheckTranspose<int64_t>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Transpose,
    ::testing::Values(PermCase{{5}, {0}}, PermCase{{3, 4}, {0, 1}}, PermCase{{3, 4}, {1, 0}}, PermCase{{0, 4}, {1, 0}},        //
                      PermCase{{33, 47}, {1, 0}}, PermCase{{2, 3, 4, 5}, {0, 2, 3, 1}}, PermCase{{2, 3, 4, 5}, {0, 3, 1, 2}},  //
                      PermCase{{2, 3, 4, 5}, {0, 2, 1, 3}}, PermCase{{2, 3, 4, 5}, {3, 2, 1, 0}},                              //
                      PermCase{{2, 17, 3, 16}, {0, 2, 3, 1}}, PermCase{{2, 40, 3, 8, 16}, {2, 0, 3, 1, 4}},                    //
                      PermCase{{1, 40, 80, 60}, {0, 2, 3, 1}}, PermCase{{300, 1, 400}, {2, 1, 0}}, PermCase{{2, 1, 3}, {1, 0, 2}}));

TEST(Transpose, ThatOnlyMovesOnesIsAnAlias) {
  ASSERT_OK_AND_ASSIGN(auto k, OpRun("transpose2").In("X", Iota<float>({2, 1, 3})).Attr("axis", Ints{1, 0, 2}).Out("Out").Make());
  EXPECT_EQ(k->alias_input(), 0);
  ASSERT_OK_AND_ASSIGN(k, OpRun("transpose").In("X", Iota<float>({2, 3})).Attr("axis", Ints{1, 0}).Out("Out").Make());
  EXPECT_EQ(k->alias_input(), -1);
}

TEST(Concat, AlongEveryAxis) {
  for (int axis : {0, 1, 2, -1}) {
    Shape a = {2, 3, 4}, b = a, c = a;
    const int d = axis < 0 ? 2 : axis;
    b[d] = 1;
    c[d] = 0;
    OpRun run("concat");
    run.In("X", Iota<int16_t>(a)).In("X", Iota<int16_t>(c)).In("X", Iota<int16_t>(b)).Attr("axis", axis).Out("Out");
    ASSERT_OK_AND_ASSIGN(const auto r, run.Run());
    Shape out = a;
    out[d] += 1;
    int64_t i = 0;
    ForEachIndex(out, [&](Shape at) {
      int64_t want = 0;
      if (at[d] < a[d]) {
        want = Position(a, at);
      } else {
        at[d] = 0;
        want = Position(b, at);
      }
      EXPECT_EQ(r[0].As<int16_t>()[i++], want) << axis;
    });
  }
}

TEST(Concat, LargeAndAxisFromATensor) {
  const Tensor x = Random({3, 50000}, 1), y = Random({3, 7}, 2);
  ASSERT_OK_AND_ASSIGN(const auto r,
                       OpRun("concat").In("X", x).In("X", y).Const("AxisTensor", I32({1}, {-1})).Attr("axis", 0).Out("Out").Run());
  EXPECT_THAT(r[0].dims(), ElementsAre(3, 50007));
  EXPECT_EQ(r[0].floats()[50007 + 50000], y.floats()[7]);
  EXPECT_EQ(r[0].floats()[2 * 50007], x.floats()[100000]);
}

TEST(Split, NumSectionsAndRest) {
  const Tensor x = Iota<int64_t>({2, 5});
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("split").In("X", x).Attr("axis", 1).Attr("sections", Ints{2, -1, 1}).Out("Out", 3).Run());
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(0, 1, 5, 6));
  EXPECT_THAT(r[1].As<int64_t>(), ElementsAre(2, 3, 7, 8));
  EXPECT_THAT(r[2].As<int64_t>(), ElementsAre(4, 9));
  ASSERT_OK_AND_ASSIGN(r, OpRun("split").In("X", x).Attr("axis", -2).Attr("num", 2).Out("Out", 2).Run());
  EXPECT_THAT(r[1].As<int64_t>(), ElementsAre(5, 6, 7, 8, 9));
}

TEST(Stack, AlongEveryAxis) {
  const Tensor x = I32({2, 2}, {0, 1, 2, 3}), y = I32({2, 2}, {4, 5, 6, 7});
  const auto run = [&](int axis) { return OpRun("stack").In("X", x).In("X", y).Attr("axis", axis).Out("Y").Run(); };
  ASSERT_OK_AND_ASSIGN(auto r, run(0));
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  ASSERT_OK_AND_ASSIGN(r, run(1));
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  ASSERT_OK_AND_ASSIGN(r, run(-1));
  EXPECT_THAT(r[0].dims(), ElementsAre(2, 2, 2));
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
}

TEST(Slice, PythonsBounds) {
  const Tensor x = Iota<float>({3, 4, 5});
  struct Case {
    Ints axes, starts, ends;
    Shape out, first;
  };
  for (const Case& c : {Case{{0, 2}, {1, 2}, {3, 5}, {2, 4, 3}, {1, 0, 2}}, Case{{1}, {-3}, {-1}, {3, 2, 5}, {0, 1, 0}},
                        Case{{1}, {-99}, {99}, {3, 4, 5}, {0, 0, 0}}, Case{{-1}, {4}, {5}, {3, 4, 1}, {0, 0, 4}},
                        Case{{0}, {2}, {1}, {0, 4, 5}, {0, 0, 0}}}) {
    ASSERT_OK_AND_ASSIGN(const auto r,
                         OpRun("slice").In("Input", x).Attr("axes", c.axes).Attr("starts", c.starts).Attr("ends", c.ends).Out("Out").Run());
    ASSERT_EQ(Shape(r[0].dims().begin(), r[0].dims().end()), c.out);
    const std::vector<int64_t> want = Expected({3, 4, 5}, c.out, [&](Shape at) {
      for (int d = 0; d < 3; ++d) at[d] += c.first[d];
      return at;
    });
    EXPECT_EQ(r[0].floats(), std::vector<float>(want.begin(), want.end()));
  }
}

TEST(Slice, DropsAxesAndReadsTensors) {
  const Tensor x = Iota<int32_t>({3, 4});
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("slice")
                                   .In("Input", x)
                                   .Attr("axes", Ints{0})
                                   .Attr("starts", Ints{-1})
                                   .Attr("ends", Ints{3})
                                   .Attr("decrease_axis", Ints{0})
                                   .Out("Out")
                                   .Run());
  EXPECT_THAT(r[0].dims(), ElementsAre(4));
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(8, 9, 10, 11));
  ASSERT_OK_AND_ASSIGN(r, OpRun("slice")
                              .In("Input", x)
                              .Attr("axes", Ints{1})
                              .Const("StartsTensor", I32({1}, {1}))
                              .Const("EndsTensorList", I64({1}, {3}))
                              .Attr("infer_flags", Ints{1})
                              .Out("Out")
                              .Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(1, 2, 5, 6, 9, 10));
}

TEST(Expand, BroadcastsAndAddsDimensions) {
  const Tensor x = I32({2, 1}, {7, 8});
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("expand_v2").In("X", x).Attr("shape", Ints{2, -1, 3}).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(7, 7, 7, 8, 8, 8, 7, 7, 7, 8, 8, 8));
  ASSERT_OK_AND_ASSIGN(r, OpRun("expand_v2").In("X", x).Attr("shape", Ints{-1, -1}).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(7, 8));
  ASSERT_OK_AND_ASSIGN(r, OpRun("expand_v2").In("X", Of<double>({1}, {3})).Const("Shape", I32({1}, {40000})).Out("Out").Run());
  EXPECT_EQ(r[0].doubles(), std::vector<double>(40000, 3));
}

TEST(Tile, RepeatsEveryDimension) {
  const Tensor x = I32({2, 2}, {1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("tile").In("X", x).Attr("repeat_times", Ints{2, 3}).Out("Out").Run());
  EXPECT_THAT(r[0].dims(), ElementsAre(4, 6));
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4));
  ASSERT_OK_AND_ASSIGN(r, OpRun("tile").In("X", x).Attr("repeat_times", Ints{2}).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
  ASSERT_OK_AND_ASSIGN(r, OpRun("tile").In("X", x).Attr("repeat_times", Ints{2, 1, 1}).Out("Out").Run());
  EXPECT_THAT(r[0].dims(), ElementsAre(2, 2, 2));
}

TEST(Reshape, IsAnAliasForAllItsSpellings) {
  const Tensor x = Iota<float>({2, 1, 6});
  const std::vector<OpRun> runs = {
      OpRun("reshape2").Attr("shape", Ints{0, -1, 3}).In("X", x).Out("Out").Out("XShape"),
      OpRun("reshape").Attr("shape", Ints{12}).In("X", x).Out("Out"),
      OpRun("squeeze2").Attr("axes", Ints{1}).In("X", x).Out("Out"),
      OpRun("unsqueeze2").Attr("axes", Ints{0}).In("X", x).Out("Out"),
      OpRun("flatten2").Attr("axis", 2).In("X", x).Out("Out"),
      OpRun("flatten_contiguous_range").Attr("start_axis", 1).Attr("stop_axis", -1).In("X", x).Out("Out"),
      OpRun("assign").In("X", x).Out("Out"),
  };
  for (const OpRun& run : runs) {
    ASSERT_OK_AND_ASSIGN(const auto r, run.Run());
    EXPECT_EQ(r[0].floats(), x.floats());
    ASSERT_OK_AND_ASSIGN(const auto k, run.Make());
    EXPECT_EQ(k->alias_input(), 0);
  }
}

TEST(Shape, IsTheDimensions) {
  ASSERT_OK_AND_ASSIGN(const auto r, OpRun("shape").In("Input", Iota<uint8_t>({4, 0, 7})).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(4, 0, 7));
}

TEST(Gather, RowsAndInnerAxes) {
  const Tensor x = Iota<int16_t>({3, 4});
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("gather").In("X", x).In("Index", I32({2}, {2, 0})).Out("Out").Run());
  EXPECT_THAT(r[0].As<int16_t>(), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3));
  ASSERT_OK_AND_ASSIGN(r, OpRun("gather").In("X", x).In("Index", I64({3}, {3, 3, 1})).Attr("axis", -1).Out("Out").Run());
  EXPECT_THAT(r[0].As<int16_t>(), ElementsAre(3, 3, 1, 7, 7, 5, 11, 11, 9));
  ASSERT_OK_AND_ASSIGN(r, OpRun("gather").In("X", x).In("Index", I64({1}, {2})).Const("Axis", I32({1}, {1})).Out("Out").Run());
  EXPECT_THAT(r[0].As<int16_t>(), ElementsAre(2, 6, 10));
  ASSERT_OK_AND_ASSIGN(r, OpRun("gather").In("X", x).In("Index", I64({0}, {})).Out("Out").Run());
  EXPECT_THAT(r[0].dims(), ElementsAre(0, 4));
}

TEST(Gather, AnIndexOutOfRangeIsAnErrorThatNamesIt) {
  const Tensor x = Iota<float>({3, 4});
  for (int32_t bad : {3, -1}) {
    EXPECT_THAT(OpRun("gather").In("X", x).In("Index", I32({2}, {0, bad})).Out("Out").Run(),
                StatusIs(ExitCode::kUsage, HasSubstr("index 1 is " + std::to_string(bad) + ", needs 0 to 2")));
  }
}

TEST(Lookup, RowsPaddingAndRange) {
  const Tensor w = F32({3, 2}, {0.5, 1, 2, 3, 4, 5});
  ASSERT_OK_AND_ASSIGN(
      auto r, OpRun("lookup_table_v2").In("W", w).In("Ids", I64({2, 2}, {2, 1, 0, 2})).Attr("padding_idx", int64_t{1}).Out("Out").Run());
  EXPECT_THAT(r[0].dims(), ElementsAre(2, 2, 2));
  EXPECT_THAT(r[0].floats(), ElementsAre(4, 5, 0, 0, 0.5, 1, 4, 5));
  ASSERT_OK_AND_ASSIGN(r, OpRun("lookup_table").In("W", w).In("Ids", I64({2, 1}, {1, 0})).Out("Out").Run());
  EXPECT_THAT(r[0].dims(), ElementsAre(2, 2));
  EXPECT_THAT(r[0].floats(), ElementsAre(2, 3, 0.5, 1));
  EXPECT_THAT(OpRun("lookup_table_v2").In("W", w).In("Ids", I64({1}, {7})).Out("Out").Run(),
              StatusIs(ExitCode::kUsage, HasSubstr("is 7, needs 0 to 2")));
}

TEST(FillConstant, ValuesTextAndTensors) {
  const std::vector<int64_t> dims = {2, 2};
  const auto fill = [&](DType t) { return std::move(OpRun("fill_constant").Attr("shape", dims).Attr("dtype", t)); };
  ASSERT_OK_AND_ASSIGN(auto r, fill(DType::kF32).Attr("value", 0.1f).Out("Out").Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(0.1f, 0.1f, 0.1f, 0.1f));
  ASSERT_OK_AND_ASSIGN(r, fill(DType::kF16).Attr("value", 0.1f).Out("Out").Run());
  EXPECT_EQ(r[0].floats()[0], 0.0999755859375f);
  ASSERT_OK_AND_ASSIGN(r, fill(DType::kI64).Attr("str_value", "9007199254740993").Out("Out").Run());
  EXPECT_EQ(r[0].As<int64_t>()[3], 9007199254740993);
  ASSERT_OK_AND_ASSIGN(r, fill(DType::kBool).Attr("value", 1.0f).Out("Out").Run());
  EXPECT_THAT(r[0].As<bool>(), ElementsAre(true, true, true, true));
  ASSERT_OK_AND_ASSIGN(r, fill(DType::kF64).Attr("str_value", "-inf").Out("Out").Run());
  EXPECT_EQ(r[0].doubles()[0], -std::numeric_limits<double>::infinity());
  ASSERT_OK_AND_ASSIGN(r, fill(DType::kI32).In("ValueTensor", I32({1}, {5})).Out("Out").Run());
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(5, 5, 5, 5));
  EXPECT_THAT(fill(DType::kF32).Attr("str_value", "many").Out("Out").Run(), StatusIs(ExitCode::kUnsupported, HasSubstr("'many'")));
}

TEST(Range, UpDownAndFractions) {
  const auto range = [](Tensor a, Tensor b, Tensor c) {
    return OpRun("range").Const("Start", a).Const("End", b).Const("Step", c).Out("Out").Run();
  };
  ASSERT_OK_AND_ASSIGN(auto r, range(I64({1}, {2}), I64({1}, {9}), I64({1}, {3})));
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(2, 5, 8));
  ASSERT_OK_AND_ASSIGN(r, range(I32({1}, {2}), I32({1}, {-2}), I32({1}, {-2})));
  EXPECT_THAT(r[0].As<int32_t>(), ElementsAre(2, 0));
  ASSERT_OK_AND_ASSIGN(r, range(F32({1}, {0}), F32({1}, {1}), F32({1}, {0.25})));
  EXPECT_THAT(r[0].floats(), ElementsAre(0, 0.25, 0.5, 0.75));
}

TEST(Range, OfAnotherTypeThanItsBounds) {
  const auto range = [](Tensor a, Tensor b, Tensor c, DType dtype) {
    return OpRun("range").Const("Start", a).Const("End", b).Const("Step", c).Attr("dtype", dtype).Out("Out").Run();
  };
  ASSERT_OK_AND_ASSIGN(auto r, range(Of<double>({1}, {0}), Of<double>({1}, {4}), Of<double>({1}, {1.5}), DType::kF32));
  EXPECT_THAT(r[0].floats(), ElementsAre(0, 1.5, 3));
  ASSERT_OK_AND_ASSIGN(r, range(F32({1}, {-1}), F32({1}, {2}), F32({1}, {1}), DType::kI64));
  EXPECT_THAT(r[0].As<int64_t>(), ElementsAre(-1, 0, 1));
  ASSERT_OK_AND_ASSIGN(r, range(I64({1}, {2}), I64({1}, {5}), I64({1}, {1}), DType::kF32));
  EXPECT_THAT(r[0].floats(), ElementsAre(2, 3, 4));
}

int64_t PadSource(int64_t at, int64_t n, const std::string& mode) {
  if (at >= 0 && at < n) return at;
  if (mode == "replicate") return at < 0 ? 0 : n - 1;
  if (mode == "circular") return (at + 4 * n) % n;
  if (mode == "reflect") return at < 0 ? -at : 2 * n - 2 - at;
  return -1;
}

TEST(Pad3D, EveryModeAndLayout) {
  const Ints pads = {2, 1, 0, 2, 1, 1};  // left, right, top, bottom, front, back
  for (const std::string mode : {"constant", "replicate", "circular", "reflect"}) {
    for (const bool last : {false, true}) {
      const Shape in = last ? Shape{2, 2, 3, 4, 2} : Shape{2, 2, 2, 3, 4};
      const Shape out = last ? Shape{2, 4, 5, 7, 2} : Shape{2, 2, 4, 5, 7};
      const int first = last ? 1 : 2;
      ASSERT_OK_AND_ASSIGN(const auto r, OpRun("pad3d")
                                             .In("X", Iota<float>(in))
                                             .Attr("paddings", pads)
                                             .Attr("mode", mode)
                                             .Attr("value", -7.5f)
                                             .Attr("data_format", last ? "NDHWC" : "NCDHW")
                                             .Out("Out")
                                             .Run());
      ASSERT_EQ(Shape(r[0].dims().begin(), r[0].dims().end()), out);
      int64_t i = 0;
      const std::vector<float> found = r[0].floats();
      ForEachIndex(out, [&](Shape at) {
        bool constant = false;
        for (int d = 0; d < 3; ++d) {
          at[first + d] = PadSource(at[first + d] - pads[4 - 2 * d], in[first + d], mode);
          constant |= at[first + d] < 0;
        }
        ASSERT_EQ(found[i++], constant ? -7.5f : static_cast<float>(Position(in, at))) << mode;
      });
    }
  }
}

TEST(Pad3D, NegativePaddingsCropAndTheConstantRounds) {
  OpRun run("pad3d");
  run.In("X", Low(DType::kF16, {1, 1, 1, 1, 4}, {0, 1, 2, 3})).Attr("paddings", Ints{-1, 1, 0, 0, 0, 0}).Attr("value", 0.1f).Out("Out");
  ASSERT_OK_AND_ASSIGN(const auto r, run.Run());
  EXPECT_THAT(r[0].floats(), ElementsAre(1, 2, 3, 0.0999755859375f));
}

}  // namespace
}  // namespace ampc::testing
