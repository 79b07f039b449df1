// put_along_axis, scatter_nd_update and window_pool: order, indices from the end, indices out of range; windows in padding.
#include <cmath>
#include <limits>

#include "graph/base/error.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OpRun Put(const Tensor& x, const Tensor& index, const Tensor& value, const char* reduce, int32_t axis = 0) {
  return OpRun("put_along_axis")
      .In("Input", x)
      .In("Index", index)
      .In("Value", value)
      .Attr("Axis", axis)
      .Attr("Reduce", std::string(reduce))
      .Out("Result");
}

TEST(PutAlongAxis, JoinsInOrder) {
  const Tensor x = F32({3}, {1, 2, 3}), at = I64({3}, {1, -2, 1}), v = F32({3}, {5, 7, 4});
  const auto floats = [&](const char* reduce) { return (*Put(x, at, v, reduce).Run())[0].floats(); };
  EXPECT_THAT(floats("none"), ElementsAre(1, 4, 3));
  EXPECT_THAT(floats("add"), ElementsAre(1, 18, 3));
  EXPECT_THAT(floats("mul"), ElementsAre(1, 280, 3));
  EXPECT_THAT(floats("max"), ElementsAre(1, 7, 3));
  EXPECT_THAT(floats("min"), ElementsAre(1, 2, 3));
}

TEST(PutAlongAxis, KeepsNanAndWrapsIntegers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_OK_AND_ASSIGN(auto out, Put(F32({2}, {1, nan}), I64({2}, {0, 1}), F32({2}, {nan, 1}), "max").Run());
  EXPECT_TRUE(std::isnan(out[0].floats()[0]) && std::isnan(out[0].floats()[1]));
  ASSERT_OK_AND_ASSIGN(out, Put(Of<int8_t>({1}, {127}), I64({1}, {0}), Of<int8_t>({1}, {2}), "add").Run());
  EXPECT_THAT(out[0].As<int8_t>(), ElementsAre(-127));
}

TEST(PutAlongAxis, FewerUpdatesThanElements) {
  ASSERT_OK_AND_ASSIGN(const auto out, Put(F32({2, 3}, {0, 1, 2, 3, 4, 5}), I32({1, 2}, {-1, 0}), F32({1, 2}, {8, 9}), "none", 1).Run());
  EXPECT_THAT(out[0].floats(), ElementsAre(9, 1, 8, 3, 4, 5));
}

TEST(PutAlongAxis, RefusesAnIndexOutOfRange) {
  for (const int64_t bad : {int64_t{2}, int64_t{-3}}) {
    EXPECT_THAT(Put(F32({2}, {1, 2}), I64({1}, {bad}), F32({1}, {3}), "none").Run(),
                StatusIs(ExitCode::kUsage, HasSubstr("needs -2 to 1")));
  }
}

TEST(ScatterNdUpdate, WritesSlicesInOrder) {
  const Tensor x = I64({2, 2}, {1, 2, 3, 4}), at = I64({3, 1}, {1, -2, 1}), v = I64({3, 2}, {5, 6, 7, 8, 9, 1});
  const auto run = [&](const char* reduce) {
    return (*OpRun("scatter_nd_update").In("X", x).In("Index", at).In("Updates", v).Attr("reduce", std::string(reduce)).Out("Out").Run())[0]
        .As<int64_t>();
  };
  EXPECT_THAT(run("none"), ElementsAre(7, 8, 9, 1));
  EXPECT_THAT(run("add"), ElementsAre(8, 10, 17, 11));
  EXPECT_THAT(run("min"), ElementsAre(1, 2, 3, 1));
}

OpRun Pool(const Tensor& x, const char* mode, std::vector<int32_t> ksize) {
  return OpRun("window_pool").In("X", x).Attr("mode", std::string(mode)).Attr("ksize", std::move(ksize));
}

TEST(WindowPool, SaysWhereTheLargestValuesAre) {
  const Tensor x = F32({1, 2, 2, 3}, {1, 5, 2, 4, 3, 5, 0, 0, 1, 2, 2, 2});
  ASSERT_OK_AND_ASSIGN(auto out, Pool(x, "max", {2, 2}).Out("Out").Out("Indices").Run());
  EXPECT_THAT(out[0].floats(), ElementsAre(5, 5, 2, 2));
  EXPECT_THAT(out[1].As<int64_t>(), ElementsAre(1, 1, 9, 10));  // the first of equal ones; counted over all channels
  ASSERT_OK_AND_ASSIGN(out, Pool(x, "max", {2, 2}).Attr("column_major", true).Out("Out").Out("Indices").Run());
  EXPECT_THAT(out[1].As<int64_t>(), ElementsAre(2, 2, 7, 9));
}

TEST(WindowPool, MeansCountPaddingWhenToldTo) {
  const Tensor x = F32({1, 1, 4}, {1, 2, 3, 4});
  const std::vector<int32_t> strides = {3}, pads = {1, 1};
  const auto run = [&](bool exclusive) {
    return (*Pool(x, "avg", {3})
                 .Attr("strides", strides)
                 .Attr("paddings", pads)
                 .Attr("ceil_mode", true)
                 .Attr("exclusive", exclusive)
                 .Out("Out")
                 .Run())[0]
        .floats();
  };
  EXPECT_THAT(run(true), ElementsAre(1.5f, 3.5f));
  EXPECT_THAT(run(false), ElementsAre(1, 7.0f / 3));
}

TEST(WindowPool, SkipsByDilation) {
  ASSERT_OK_AND_ASSIGN(
      auto out, Pool(Of<uint8_t>({1, 1, 5}, {1, 9, 3, 200, 2}), "max", {2}).Attr("dilations", std::vector<int32_t>{2}).Out("Out").Run());
  EXPECT_THAT(out[0].As<uint8_t>(), ElementsAre(3, 200, 3));
}

}  // namespace
}  // namespace ampc::testing
