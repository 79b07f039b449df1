// Kernels give the same result whatever the layouts of their operands and results.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "graph/op_registry.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"
#include "kernels/spec/elementwise_spec.h"
#include "tests/kernels/layouts.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

TEST(ConvertLayout, IsATranspositionPerImage) {
  for (const Shape& dims : std::vector<Shape>{
           {1, 1, 1, 1}, {2, 3, 5, 7}, {1, 3, 48, 32}, {2, 16, 1, 9}, {1, 33, 17, 1}, {3, 8, 4, 4}, {1, 100, 30, 41}, {0, 3, 2, 2}}) {
    SCOPED_TRACE(::testing::PrintToString(dims));
    const Tensor x = Random(dims, 1);
    const Dims d(dims.begin(), dims.end());
    for (const int threads : {1, 3}) {
      Tensor last = x, back = x;
      ConvertLayout(threads, d, Layout::kPlain, Layout::kChannelsLast, x.stored.values<float>().data(),
                    last.stored.mutable_values<float>().data());
      EXPECT_EQ(last.floats(), ToNhwc(x).floats());
      ConvertLayout(threads, d, Layout::kChannelsLast, Layout::kPlain, last.stored.values<float>().data(),
                    back.stored.mutable_values<float>().data());
      EXPECT_EQ(back.floats(), x.floats());
    }
  }
}

TEST(ConvertLayout, RoundsWhatItMoves) {
  for (const Shape& dims : std::vector<Shape>{{2, 3, 50, 61}, {1, 1, 70, 70}, {2, 16, 9, 9}, {1, 33, 17, 2}, {0, 3, 2, 2}}) {
    SCOPED_TRACE(::testing::PrintToString(dims));
    const Tensor x = Random(dims, 1);
    const Dims d(dims.begin(), dims.end());
    for (const DType type : {DType::kF16, DType::kBF16}) {
      const Tensor rounded = Low(type, dims, x.floats());
      for (const int threads : {1, 3}) {
        for (const Layout to : {Layout::kPlain, Layout::kChannelsLast}) {
          Tensor got = x;
          ConvertLayout(threads, d, Layout::kPlain, to, x.stored.values<float>().data(), got.stored.mutable_values<float>().data(), type);
          EXPECT_EQ(got.floats(), (to == Layout::kPlain ? rounded : ToNhwc(rounded)).floats());
        }
      }
    }
  }
}

TEST(ParallelFor, CoversEachIndexOnce) {
  for (const int64_t n : {0, 1, 5, 100}) {
    for (const int64_t grain : {1, 7, 1000}) {
      std::vector<int> hits(n, 0);
      ParallelFor(4, n, grain, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) ++hits[i];
      });
      EXPECT_EQ(hits, std::vector<int>(n, 1));
    }
  }
}

// `run` with each set of `slots` channels-last.
void CheckLayouts(const OpRun& run, const std::vector<std::string>& slots, DType dtype = DType::kF32) {
  ASSERT_OK_AND_ASSIGN(const auto plain, run.Run());
  for (size_t set = 1; set < (size_t{1} << slots.size()); ++set) {
    OpRun other = run;
    std::string names;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (set >> i & 1) {
        other.ChannelsLast(slots[i]);
        names += slots[i] + " ";
      }
    }
    SCOPED_TRACE(names);
    ASSERT_OK_AND_ASSIGN(const auto got, other.Run());
    const std::vector<float> values = got[0].floats(), want = plain[0].floats();
    ASSERT_EQ(values.size(), want.size());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(Near(values[i], want[i], ToleranceFor(dtype))) << "element " << i << " is " << values[i] << ", needs " << want[i];
    }
  }
}

TEST(Layouts, ConvolutionTakesEachOperandInEither) {
  const std::vector<int32_t> one = {1, 1};
  const Tensor x = Random({2, 5, 6, 7}, 1, -1, 1), r = Random({2, 9, 6, 7}, 3), b = Random({9}, 4), f = Random({9, 5, 3, 3}, 2, -1, 1);
  CheckLayouts(OpRun("conv2d").In("Input", x).Const("Filter", f).In("Bias", b).Attr("paddings", one).Out("Output"), {"Input", "Output"});
  CheckLayouts(OpRun("conv2d").In("Input", x).In("Filter", f).In("ResidualData", r).Attr("paddings", one).Out("Output"),
               {"Input", "ResidualData", "Output"});
  CheckLayouts(OpRun("conv2d_transpose")
                   .In("Input", x)
                   .Const("Filter", Random({5, 3, 2, 2}, 2))
                   .Attr("strides", std::vector<int32_t>{2, 2})
                   .Out("Output"),
               {"Input", "Output"});
  const Tensor low = Low(DType::kBF16, {1, 32, 6, 7}, Random({1, 32, 6, 7}, 1).floats()),
               lf = Low(DType::kBF16, {16, 32, 1, 1}, Random({16, 32, 1, 1}, 2).floats());
  CheckLayouts(OpRun("conv2d").In("Input", low).Const("Filter", lf).Out("Output"), {"Input", "Output"}, DType::kBF16);
}

TEST(Layouts, PoolingTakesEachOperandInEither) {
  for (const char* type : {"max", "avg"}) {
    const OpRun pool = OpRun("pool2d").In("X", Random({2, 70, 7, 9}, 1)).Attr("pooling_type", std::string(type)).Out("Out");
    CheckLayouts(OpRun(pool).Attr("ksize", std::vector<int32_t>{3, 3}).Attr("strides", std::vector<int32_t>{2, 2}), {"X", "Out"});
    CheckLayouts(OpRun(pool).Attr("ksize", std::vector<int32_t>{1, 1}).Attr("global_pooling", true), {"X", "Out"});
  }
}

// In the order in which the elements lie, so sums may differ by a rounding.
TEST(Layouts, ReductionsThatKeepTheirDimsFollow) {
  const Tensor image = Random({2, 70, 5, 6}, 1), volume = Random({2, 19, 3, 4, 5}, 2);
  const auto check = [](const char* op, const Tensor& x, std::vector<int32_t> dims) {
    SCOPED_TRACE(op + ::testing::PrintToString(dims));
    const OpRun run = OpRun(op).In("X", x).Attr("dim", dims).Attr("keep_dim", true).Out("Out");
    ASSERT_OK_AND_ASSIGN(const auto plain, run.Run());
    ASSERT_OK_AND_ASSIGN(const auto last, OpRun(run).ChannelsLast("X").ChannelsLast("Out").Run());
    const std::vector<float> got = last[0].floats(), want = plain[0].floats();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(Near(got[i], want[i], ToleranceFor(DType::kF32))) << i << ": " << got[i];
  };
  for (const char* op : {"reduce_mean", "reduce_sum", "reduce_max", "reduce_min"}) {
    for (const std::vector<int32_t>& dims : {std::vector<int32_t>{2, 3}, {1}, {3}, {-2}, {0, 2, 3}}) check(op, image, dims);
    for (const std::vector<int32_t>& dims : {std::vector<int32_t>{2, 3, 4}, {1, 4}}) check(op, volume, dims);
  }
}

OpRun BatchNorm() {
  const Tensor channel = Random({5}, 2, 0.5, 1.5);
  return OpRun("batch_norm")
      .In("X", Random({2, 5, 6, 7}, 1))
      .In("Scale", channel)
      .In("Bias", channel)
      .In("Mean", channel)
      .In("Variance", channel)
      .Out("Y")
      .Out("MeanOut")
      .Out("VarianceOut");
}

TEST(Layouts, CastMakesEitherOfARowMajorOperand) {
  for (const char* op : {"cast", "amp_cast"}) {
    for (const DType to : {DType::kF16, DType::kBF16}) {
      OpRun plain = OpRun(op).In("X", Random({2, 3, 40, 41}, 1)).Attr(std::string(op) == "cast" ? "out_dtype" : "dtype", to).Out("Out");
      ASSERT_OK_AND_ASSIGN(const auto want, plain.Run());
      ASSERT_OK_AND_ASSIGN(const auto got, plain.ChannelsLast("Out").Run());
      EXPECT_EQ(got[0].floats(), want[0].floats());
    }
  }
}

TEST(Layouts, BatchNormNeedsBothAlike) {
  for (const bool is_test : {false, true}) {
    const OpRun plain = BatchNorm().Attr("is_test", is_test);
    OpRun last = plain;
    last.ChannelsLast("X").ChannelsLast("Y");
    ASSERT_OK_AND_ASSIGN(const auto want, plain.Run());
    ASSERT_OK_AND_ASSIGN(const auto got, last.Run());
    for (size_t i = 0; i < got.size(); ++i) {
      for (size_t k = 0; k < got[i].floats().size(); ++k)
        ASSERT_TRUE(Near(got[i].floats()[k], want[i].floats()[k], ToleranceFor(DType::kF32)));
    }
  }
  EXPECT_THAT(BatchNorm().ChannelsLast("X").Run(), StatusIs(ExitCode::kInternal, HasSubstr("does not take")));
}

// All results.
void ExpectSame(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].floats(), want[i].floats()) << "result " << i;
}

// `run` with X and Out channels-last.
void CheckTogether(const OpRun& run) {
  ASSERT_OK_AND_ASSIGN(const auto plain, run.Run());
  ASSERT_OK_AND_ASSIGN(const auto last, OpRun(run).ChannelsLast("X").ChannelsLast("Out").Run());
  ExpectSame(last, plain);
}

// `x` and `out` channels-last give what they give row-major, bit for bit; one alone is refused where they must lie alike.
void CheckAlike(const OpRun& run, const std::string& x, const std::string& out, bool alone = false) {
  ASSERT_OK_AND_ASSIGN(const auto plain, run.Run());
  ASSERT_OK_AND_ASSIGN(const auto last, OpRun(run).ChannelsLast(x).ChannelsLast(out).Run());
  ExpectSame(last, plain);
  for (const std::string& slot : {x, out}) {
    SCOPED_TRACE(slot);
    const auto got = OpRun(run).ChannelsLast(slot).Run();
    if (!alone) {
      EXPECT_THAT(got, StatusIs(ExitCode::kInternal, HasSubstr("does not take")));
      continue;
    }
    ASSERT_OK(got.status());
    ExpectSame(*got, plain);
  }
}

using Int32s = std::vector<int32_t>;

TEST(Layouts, MovesKeepTheOrderOfTheirOperands) {
  const Tensor x = Random({2, 6, 5, 7}, 1), more = Random({2, 3, 5, 7}, 2);
  for (const DType type : {DType::kF32, DType::kBF16}) {
    const Tensor a = type == DType::kF32 ? x : Low(type, {2, 6, 5, 7}, x.floats());
    const Tensor b = type == DType::kF32 ? more : Low(type, {2, 3, 5, 7}, more.floats());
    CheckAlike(OpRun("concat").In("X", a).In("X", b).In("X", a).Attr("axis", 1).Out("Out"), "X", "Out");
    for (const int axis : {0, 2, -1}) CheckAlike(OpRun("concat").In("X", a).In("X", a).Attr("axis", axis).Out("Out"), "X", "Out");
    CheckAlike(OpRun("split").In("X", a).Attr("axis", 1).Attr("sections", Int32s{1, 3, 2}).Out("Out", 3), "X", "Out");
    CheckAlike(OpRun("split").In("X", a).Attr("axis", 0).Attr("num", 2).Out("Out", 2), "X", "Out");
    CheckAlike(OpRun("slice").In("Input", a).Attr("axes", Int32s{1, 3}).Attr("starts", Int32s{2, -4}).Attr("ends", Int32s{6, 9}).Out("Out"),
               "Input", "Out");
    CheckAlike(OpRun("strided_slice")
                   .In("Input", a)
                   .Attr("axes", Int32s{1, 2})
                   .Attr("starts", Int32s{5, 0})
                   .Attr("ends", Int32s{0, 5})
                   .Attr("strides", Int32s{-2, 2})
                   .Out("Out"),
               "Input", "Out");
    CheckAlike(OpRun("pad").In("X", a).Attr("paddings", Int32s{0, 1, 2, 0, 0, 3, 1, 1}).Attr("pad_value", 1.25f).Out("Out"), "X", "Out");
    for (const char* mode : {"constant", "reflect", "edge"})
      CheckAlike(OpRun("pad2d").In("X", a).Attr("paddings", Int32s{1, 2, 3, 0}).Attr("mode", std::string(mode)).Out("Out"), "X", "Out");
  }
}

TEST(Layouts, PermutationsTakeEachInEither) {
  Int32s axes = {0, 1, 2, 3};
  do {
    SCOPED_TRACE(::testing::PrintToString(axes));
    CheckAlike(OpRun("transpose2").In("X", Random({2, 6, 5, 7}, 1)).Attr("axis", axes).Out("Out"), "X", "Out", /*alone=*/true);
  } while (std::next_permutation(axes.begin(), axes.end()));
}

TEST(Layouts, SoftmaxWorksAlongAnyAxisInEitherOrder) {
  for (const char* op : {"softmax", "log_softmax"}) {
    for (const int64_t channels : {2, 8, 9, 70}) {
      for (const int axis : {0, 1, 2, -1}) {
        SCOPED_TRACE(absl::StrCat(op, " ", channels, " ", axis));
        const OpRun run = OpRun(op).In("X", Random({2, channels, 5, 7}, 1)).Attr("axis", axis).Out("Out");
        ASSERT_OK_AND_ASSIGN(const auto plain, run.Run());
        ASSERT_OK_AND_ASSIGN(const auto last, OpRun(run).ChannelsLast("X").ChannelsLast("Out").Run());
        const std::vector<float> got = last[0].floats(), want = plain[0].floats();
        for (size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(Near(got[i], want[i], ToleranceFor(DType::kF32)));
      }
    }
  }
}

TEST(Layouts, OperandsOfLowerRankAreAlignedWithTheChannels) {
  const Tensor x = Random({2, 5, 6, 7}, 1);
  for (const Shape& dims : std::vector<Shape>{{5, 1, 1}, {1}, {1, 1, 1}}) {
    SCOPED_TRACE(::testing::PrintToString(dims));
    CheckTogether(OpRun("elementwise_sub").In("X", x).In("Y", Random(dims, 2)).Out("Out"));
  }
  CheckTogether(OpRun("elementwise_mul").In("X", x).In("Y", Random({5}, 2)).Attr("axis", 1).Out("Out"));
  CheckTogether(OpRun("elementwise_mul").In("X", x).In("Y", Random({2, 5}, 2)).Attr("axis", 0).Out("Out"));
  CheckTogether(OpRun("elementwise_mul").In("X", x).In("Y", Random({6, 7}, 2)).Out("Out"));
  EXPECT_THAT(OpRun("elementwise_add").In("X", x).In("Y", Random({5, 6, 7}, 2)).Out("Out").ChannelsLast("X").ChannelsLast("Out").Run(),
              StatusIs(ExitCode::kInternal, HasSubstr("does not take")));
}

// X, the gradient of the result and that of X channels-last: the same elements, and sums of the same elements in another order.
void CheckGradientTogether(const std::string& op, const Shape& x, const Shape& y, int axis, bool of_x) {
  SCOPED_TRACE(absl::StrCat(op, " ", ::testing::PrintToString(y), " axis ", axis, " of x ", of_x));
  OpRun run(op);
  run.In("X", Random(x, 1)).In("Y", Random(y, 2, 0.5, 2)).In("Out@GRAD", Random(x, 3)).Attr("axis", axis);
  const bool reads_out = Ops().Find(op)->InputSlot("Out") >= 0;
  if (reads_out) run.In("Out", Random(x, 4));
  if (of_x) run.Out("X@GRAD");
  run.Out("Y@GRAD");
  ASSERT_OK_AND_ASSIGN(const auto plain, run.Run());
  OpRun last(run);
  last.ChannelsLast("X").ChannelsLast("Out@GRAD");
  if (reads_out) last.ChannelsLast("Out");
  if (of_x) last.ChannelsLast("X@GRAD");
  ASSERT_OK_AND_ASSIGN(const auto got, last.Run());
  if (of_x) {
    EXPECT_TRUE(got[0].stored == plain[0].stored);
  }
  const std::vector<float> sums = got.back().floats(), wanted = plain.back().floats();
  ASSERT_EQ(sums.size(), wanted.size());
  for (size_t i = 0; i < sums.size(); ++i) EXPECT_TRUE(Near(sums[i], wanted[i], ToleranceFor(DType::kF32))) << i;
}

TEST(Layouts, GradientsOfOperandsOfLowerRankAreAlignedWithTheChannels) {
  for (const BinaryGradientRow& row : BinaryGradientRows()) {
    if (row.x != std::string("X")) continue;  // its operands are alike
    for (const bool of_x : {true, false}) {
      CheckGradientTogether(row.op, {2, 5, 6, 7}, {5}, 1, of_x);
      CheckGradientTogether(row.op, {2, 5, 6, 7}, {2, 5}, 0, of_x);
      CheckGradientTogether(row.op, {2, 5, 6, 7}, {6, 7}, -1, of_x);
      CheckGradientTogether(row.op, {2, 5, 6, 7}, {5, 1, 1}, -1, of_x);
      CheckGradientTogether(row.op, {2, 5, 4, 6, 7}, {5}, 1, of_x);
    }
  }
}

TEST(Layouts, VolumesAreTakenInEither) {
  const std::vector<int32_t> one = {1, 1, 1}, two = {2, 2, 2}, three = {3, 3, 3};
  const Tensor x = Random({2, 5, 4, 6, 7}, 1, -1, 1), r = Random({2, 9, 4, 6, 7}, 3), b = Random({9}, 4),
               f = Random({9, 5, 3, 3, 3}, 2, -1, 1);
  CheckLayouts(OpRun("conv3d").In("Input", x).Const("Filter", f).In("Bias", b).In("ResidualData", r).Attr("paddings", one).Out("Output"),
               {"Input", "ResidualData", "Output"});
  CheckLayouts(OpRun("conv3d_transpose").In("Input", x).Const("Filter", Random({5, 3, 2, 2, 2}, 2)).Attr("strides", two).Out("Output"),
               {"Input", "Output"});
  for (const char* type : {"max", "avg"}) {
    for (const std::vector<int32_t>& strides : {one, two}) {
      for (const int64_t channels : {5, 19})
        CheckLayouts(OpRun("pool3d")
                         .In("X", Random({2, channels, 4, 6, 7}, 1))
                         .Attr("pooling_type", std::string(type))
                         .Attr("ksize", three)
                         .Attr("strides", strides)
                         .Attr("paddings", one)
                         .Out("Out"),
                     {"X", "Out"});
    }
  }
  CheckTogether(OpRun("elementwise_sub").In("X", x).In("Y", Random({5}, 2)).Attr("axis", 1).Out("Out"));
  const OpRun lower = OpRun("elementwise_sub").In("X", x).In("Y", Random({5, 1, 1, 1}, 2)).Out("Out");
  CheckTogether(lower);
  EXPECT_THAT(OpRun(lower).ChannelsLast("X").ChannelsLast("Y").ChannelsLast("Out").Run(),
              StatusIs(ExitCode::kInternal, HasSubstr("does not take")));  // an image lies in another order than a volume
  CheckTogether(OpRun("relu").In("X", x).Out("Out"));
  CheckAlike(OpRun("concat").In("X", x).In("X", x).Attr("axis", 1).Out("Out"), "X", "Out");
  CheckAlike(OpRun("transpose2").In("X", x).Attr("axis", std::vector<int32_t>{0, 2, 3, 4, 1}).Out("Out"), "X", "Out", /*alone=*/true);
}

TEST(Layouts, KernelsThatTakeNoneRefuse) {
  EXPECT_THAT(OpRun("cumsum").In("X", Random({1, 2, 3, 4}, 1)).Out("Out").ChannelsLast("X").Run(),
              StatusIs(ExitCode::kInternal, HasSubstr("op 'cumsum'")));
  EXPECT_THAT(OpRun("conv2d")
                  .In("Input", Random({1, 3, 3, 2}, 1))
                  .Const("Filter", Random({2, 2, 1, 1}, 1))
                  .Attr("data_format", std::string("NHWC"))
                  .Out("Output")
                  .ChannelsLast("Input")
                  .Run(),
              StatusIs(ExitCode::kInternal, HasSubstr("does not take")));
}

}  // namespace
}  // namespace ampc::testing
