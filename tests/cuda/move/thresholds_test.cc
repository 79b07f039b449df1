// Sizes at which device code of moves, indexes, sorts and samples changes its way, and ops that plans compute before a run: each against
// the CPU's kernel, which OpRun compares with.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/base/types.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

std::vector<int64_t> Numbers(int64_t n, int64_t below, int64_t step) {
  std::vector<int64_t> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(i * step % below);
  return v;
}

Tensor In(DType dtype, Tensor t) {
  const std::vector<float> values = t.floats();
  return dtype == DType::kF32 ? t : Low(dtype, Shape(t.dims().begin(), t.dims().end()), values);
}

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};

TEST(Constants, FillOfEveryType) {
  for (const DType dtype : MovableTypes()) {
    for (const int64_t n : {0, 1, 7, 33, 1000}) {
      OpRun run("fill_constant");
      run.Attr("shape", std::vector<int64_t>{n}).Attr("dtype", dtype).Attr("value", 1.3f).Out("Out");
      EXPECT_OK(run.Run().status()) << Name(dtype) << " " << n;
    }
  }
  ASSERT_OK_AND_ASSIGN(
      const auto out,
      OpRun("fill_constant").Attr("shape", std::vector<int64_t>{3}).Attr("dtype", DType::kF16).Attr("value", 0.1f).Out("Out").Run());
  EXPECT_EQ(out[0].floats()[2], 0.0999755859375f);
}

TEST(Constants, FillWithATensor) {
  OpRun run("fill_constant");
  run.In("ValueTensor", F32({1}, {2.5f})).Attr("shape", std::vector<int64_t>{37}).Attr("dtype", DType::kF32).Out("Out");
  ASSERT_OK_AND_ASSIGN(const auto out, run.Run());
  EXPECT_EQ(out[0].floats()[36], 2.5f);
}

TEST(Constants, EyeAndLinspace) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}) {
    OpRun run("eye");
    EXPECT_OK(run.Attr("num_rows", int64_t{5}).Attr("num_columns", int64_t{7}).Attr("dtype", dtype).Out("Out").Run().status())
        << Name(dtype);
  }
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int n : {1, 2, 9}) {
      OpRun run("linspace");
      run.In("Start", In(dtype, F32({1}, {-1})))
          .In("Stop", In(dtype, F32({1}, {2})))
          .Const("Num", I32({1}, {n}))
          .Attr("dtype", dtype)
          .Out("Out");
      EXPECT_OK(run.Run().status()) << Name(dtype) << " " << n;
    }
  }
}

TEST(Constants, ShapeAndSize) {
  for (const DType dtype : kFloats) {
    const Tensor x = In(dtype, Random({2, 3, 5}, 1));
    ASSERT_OK_AND_ASSIGN(const auto shape, OpRun("shape").In("Input", x).Out("Out").Run());
    EXPECT_THAT(shape[0].As<int32_t>(), ElementsAre(2, 3, 5));
    ASSERT_OK_AND_ASSIGN(const auto size, OpRun("size").In("Input", x).Out("Out").Run());
    EXPECT_THAT(size[0].As<int64_t>(), ElementsAre(30));
  }
}

TEST(Constants, RandomNumbers) {
  for (const char* op : {"uniform_random", "gaussian_random", "truncated_gaussian_random"}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
      OpRun run(op);
      run.Attr("shape", std::vector<int64_t>{40, 50}).Attr("dtype", dtype).Attr("seed", 7).Out("Out");
      EXPECT_OK(run.Run().status()) << op;
    }
  }
}

TEST(Moves, TilesOfEveryWidth) {
  for (const Shape& dims : {Shape{70, 66}, Shape{64, 128}, Shape{9, 8}, Shape{130, 67}}) {
    for (const DType dtype : kFloats) {
      OpRun run("transpose2");
      run.In("X", In(dtype, Random(dims, 3))).Attr("axis", std::vector<int64_t>{1, 0}).Out("Out").Out("XShape");
      EXPECT_OK(run.Run().status());
    }
    std::vector<bool> bits;
    std::vector<int64_t> wide;
    for (int64_t i = 0; i < dims[0] * dims[1]; ++i) {
      bits.push_back(i % 3 == 0);
      wide.push_back(i);
    }
    for (const Tensor& x : {Of(dims, bits), I64(dims, wide)}) {
      EXPECT_OK(OpRun("transpose2").In("X", x).Attr("axis", std::vector<int64_t>{1, 0}).Out("Out").Out("XShape").Run().status());
    }
  }
}

TEST(Moves, MoreOperandsThanOneLaunchTakes) {
  OpRun join("concat");
  for (int i = 0; i < 70; ++i) join.In("X", Random({3, 1 + i % 9}, static_cast<uint32_t>(i)));
  EXPECT_OK(join.Attr("axis", 1).Out("Out").Run().status());
  OpRun apart("unstack");
  apart.In("X", Random({70, 5}, 1)).Attr("axis", 0).Attr("num", 70).Out("Y", 70);
  EXPECT_OK(apart.Run().status());
}

TEST(Moves, SixDimensionsReversed) {
  OpRun run("flip");
  run.In("X", Random({2, 3, 2, 3, 2, 3}, 1)).Attr("axis", std::vector<int64_t>{0, 2, 4}).Out("Out");
  EXPECT_OK(run.Run().status());
}

// Many rows of one number are added in stretches.
TEST(Index, SumsOfManyRows) {
  for (const DType dtype : kFloats) {
    for (const int64_t rows : {5, 64, 1000}) {
      for (const int64_t step : {0, 1, 3}) {
        OpRun run("lookup_table_v2_grad");
        run.In("W", In(dtype, Random({7, 9}, 1))).In("Ids", I64({rows}, Numbers(rows, 7, step)));
        run.In("Out@GRAD", In(dtype, Random({rows, 9}, 2, -1, 1))).Attr("padding_idx", 2).Out("W@GRAD");
        EXPECT_OK(run.Run().status()) << rows << " " << step;
      }
    }
  }
}

TEST(Index, ScatterOfIntegers) {
  std::vector<int64_t> updates = Numbers(600, 1000, 7), x = Numbers(20, 100, 3);
  for (const bool overwrite : {false, true}) {
    OpRun run("scatter");
    run.In("X", I64({10, 2}, x))
        .In("Ids", I64({300}, Numbers(300, 10, 3)))
        .In("Updates", I64({300, 2}, updates))
        .Attr("overwrite", overwrite)
        .Out("Out");
    EXPECT_OK(run.Run().status());
  }
  OpRun add("scatter_nd_add");
  add.In("X", I64({10, 2}, x)).In("Index", I64({300, 1}, Numbers(300, 9, 4))).In("Updates", I64({300, 2}, updates)).Out("Out");
  EXPECT_OK(add.Run().status());
}

TEST(Index, GradientOfMaskedSelect) {
  std::vector<bool> mask;
  for (int i = 0; i < 150; ++i) mask.push_back(i % 7 == 2 || i % 5 == 0);
  int64_t chosen = 0;
  for (const bool b : mask) chosen += b;
  for (const DType dtype : kFloats) {
    OpRun run("masked_select_grad");
    run.In("X", In(dtype, Random({3, 50}, 1))).In("Mask", Of({3, 50}, mask)).In("Y@GRAD", In(dtype, Random({chosen}, 2))).Out("X@GRAD");
    EXPECT_OK(run.Run().status()) << Name(dtype);
  }
}

TEST(Sort, NaNZerosAndTies) {
  const Tensor x = F32({3, 5}, {kNaN, 1, -0.0f, 0.0f, kInf, 2, 2, kNaN, -kInf, 2, -1, -1, -2, 3, -2});
  for (const bool descending : {false, true}) {
    for (const int64_t axis : {0, 1}) {
      EXPECT_OK(OpRun("argsort").In("X", x).Attr("axis", axis).Attr("descending", descending).Out("Out").Out("Indices").Run().status());
      OpRun top("top_k_v2");
      top.In("X", x).Attr("k", 2).Attr("axis", axis).Attr("largest", descending).Out("Out").Out("Indices");
      EXPECT_OK(top.Run().status());
    }
  }
}

TEST(Sort, OfEveryType) {
  const std::vector<int64_t> n = Numbers(600, 256, 37);
  std::vector<Tensor> operands = {I64({6, 100}, n), I32({6, 100}, std::vector<int32_t>(n.begin(), n.end())),
                                  Of<int16_t>({6, 100}, std::vector<int16_t>(n.begin(), n.end())),
                                  Of<uint8_t>({6, 100}, std::vector<uint8_t>(n.begin(), n.end())),
                                  Of<double>({6, 100}, std::vector<double>(n.begin(), n.end()))};
  for (const DType dtype : kFloats) operands.push_back(In(dtype, Random({6, 100}, 5)));
  for (const Tensor& x : operands) {
    for (const int64_t k : {1, 32, 33, 100}) {
      OpRun run("top_k_v2");
      run.In("X", x).Attr("k", k).Attr("axis", -1).Attr("largest", k % 2 == 0).Out("Out").Out("Indices");
      EXPECT_OK(run.Run().status()) << Name(x.dtype) << " " << k;
    }
  }
}

TEST(Sampling, GradientsWhereManyPointsFallOnOneEdge) {
  const Tensor x = Random({2, 3, 5, 6}, 1), grid = Random({2, 30, 4, 2}, 2, -3, 3), gradient = Random({2, 3, 30, 4}, 3);
  for (const char* outside : {"zeros", "border", "reflection"}) {
    for (const char* mode : {"bilinear", "nearest"}) {
      OpRun run("grid_sampler_grad");
      run.In("X", x)
          .In("Grid", grid)
          .In("Output@GRAD", gradient)
          .Attr("mode", std::string(mode))
          .Attr("padding_mode", std::string(outside));
      EXPECT_OK(run.Out("X@GRAD").Out("Grid@GRAD").Run().status()) << outside << " " << mode;
    }
  }
}

TEST(Sampling, BoxesOfSeveralImages) {
  const Tensor x = Random({2, 3, 16, 20}, 1), rois = F32({3, 4}, {1, 2, 9, 11, -5, -5, 40, 30, 3, 3, 3.5f, 3.5f});
  for (const int64_t ratio : {-1, 2}) {
    for (const bool aligned : {false, true}) {
      OpRun run("roi_align");
      run.In("X", x).In("ROIs", rois).In("RoisNum", I32({2}, {1, 2})).Attr("pooled_height", 3).Attr("pooled_width", 2);
      run.Attr("sampling_ratio", ratio).Attr("aligned", aligned).Attr("spatial_scale", 0.5f).Out("Out");
      EXPECT_OK(run.Run().status());
    }
  }
}

TEST(Pad, ModesAndTheirGradients) {
  for (const char* mode : {"constant", "reflect", "replicate", "circular"}) {
    const std::vector<int64_t> pads = {2, 3, 1, 2, 0, 1};
    const Tensor x = Random({2, 3, 4, 5, 6}, 1), gradient = Random({2, 3, 5, 8, 11}, 2);
    OpRun run("pad3d");
    run.In("X", x).Attr("paddings", pads).Attr("mode", std::string(mode)).Attr("value", 0.1f).Out("Out");
    EXPECT_OK(run.Run().status()) << mode;
    OpRun back("pad3d_grad");
    back.In("X", x).In("Out@GRAD", gradient).Attr("paddings", pads).Attr("mode", std::string(mode)).Out("X@GRAD");
    EXPECT_OK(back.Run().status()) << mode;
  }
}

TEST(Interp, GradientsOfEveryMethod) {
  for (const char* op : {"bicubic_interp_v2_grad", "bilinear_interp_v2_grad", "nearest_interp_v2_grad"}) {
    for (const bool corners : {false, true}) {
      for (const int64_t mode : {0, 1}) {
        for (const std::pair<int64_t, int64_t>& size : {std::pair<int64_t, int64_t>{17, 23}, {3, 4}, {7, 1}}) {
          OpRun run(op);
          run.In("X", Random({2, 3, 7, 9}, 1)).In("Out@GRAD", Random({2, 3, size.first, size.second}, 2));
          run.Attr("out_h", size.first).Attr("out_w", size.second).Attr("align_corners", corners).Attr("align_mode", mode).Out("X@GRAD");
          EXPECT_OK(run.Run().status()) << op << corners << mode << size.first;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ampc::testing
