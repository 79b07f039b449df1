// fused_attention: the scores of some rows at a time, their softmax, and the product with V, while they are in the cache: memory is linear
// in the number of positions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "graph/base/aligned.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/halves.h"
#include "kernels/lib/matmul.h"
#include "kernels/lib/matmul_spec.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

using onednn::Matmul;
using onednn::MatmulSpec;

constexpr int64_t kFloat = sizeof(float);

// An operand as matrices of `rows` and `cols`, whose leading dims broadcast to those of the result.
struct Stack {
  int flat = -1;
  DType storage = DType::kF32;
  int64_t rows = 1, cols = 1;
  std::vector<int64_t> strides;  // in matrices, by leading dim of the result; 0 where it repeats

  int64_t size() const { return rows * cols; }
};

Stack StackOf(const SpecView& view, const char* slot, size_t rank) {
  Stack s;
  s.flat = view.In(slot);
  s.strides.assign(rank - 2, 0);
  if (s.flat < 0) return s;
  s.storage = view.InDesc(slot).storage();
  Dims dims = view.InDesc(slot).dims;
  dims.insert(dims.begin(), rank - dims.size(), 1);
  s.rows = dims[rank - 2];
  s.cols = dims[rank - 1];
  for (int64_t d = static_cast<int64_t>(rank) - 3, stride = 1; d >= 0; stride *= dims[d--]) s.strides[d] = dims[d] == 1 ? 0 : stride;
  return s;
}

// Rows of the result that are computed at once: the two products of so many.
struct Tile {
  int64_t rows = 0;
  std::unique_ptr<Matmul> scores, values;
};

class AttentionKernel final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
    std::unique_ptr<AttentionKernel> kernel(new AttentionKernel(spec));
    const int64_t rest = kernel->rows_ % kernel->tile_.rows;
    AMPC_RETURN_IF_ERROR(kernel->Prepare(&kernel->tile_));
    if (rest > 0) {
      kernel->rest_.rows = rest;
      AMPC_RETURN_IF_ERROR(kernel->Prepare(&kernel->rest_));
    }
    return kernel;
  }

  int64_t workspace_bytes() const override { return workers_ * (tile_bytes() + products_); }
  std::string implementation() const override {
    return tile_.scores == nullptr ? "ampc:plain" : "ampc:tiles:" + tile_.scores->implementation();
  }

  absl::Status Run(const KernelArgs& args) const override {
    const int64_t tiles = (rows_ + tile_.rows - 1) / tile_.rows, tasks = matrices_ / group_ * tiles;
    std::vector<absl::Status> done(static_cast<size_t>(workers_));
    ParallelFor(args.threads, workers_, 1, [&](int64_t first, int64_t last) {
      for (int64_t w = first; w < last; ++w) {
        char* const room = static_cast<char*>(args.workspace) + w * (tile_bytes() + products_);
        for (int64_t t = tasks * w / workers_; t < tasks * (w + 1) / workers_; ++t) {
          done[static_cast<size_t>(w)].Update(RunTile(args, t / tiles * group_, t % tiles * tile_.rows, room));
        }
      }
    });
    for (const absl::Status& status : done) AMPC_RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

 private:
  explicit AttentionKernel(const KernelSpec& spec) : threads_(spec.threads) {
    const SpecView view(spec);
    const TensorDesc& out = spec.outputs[0];
    const size_t rank = out.dims.size();
    q_ = StackOf(view, "Q", rank);
    k_ = StackOf(view, "K", rank);
    v_ = StackOf(view, "V", rank);
    mask_ = StackOf(view, "Mask", rank);
    trans_k_ = view.op().GetBool("trans_k");
    nan_to_zero_ = view.op().GetBool("nan_to_zero");
    scale_ = view.op().GetFloat("scale", 1);
    bf16_ = out.dtype == DType::kBF16;
    out_storage_ = out.storage();
    lead_.assign(out.dims.begin(), out.dims.end() - 2);
    for (int64_t d : lead_) matrices_ *= d;
    rows_ = out.dims[rank - 2];
    width_ = out.dims[rank - 1];
    positions_ = v_.rows;
    tile_.rows = RowsOfTile();
    group_ = Group();
    workers_ = std::min<int64_t>(threads_, matrices_ / group_ * ((rows_ + tile_.rows - 1) / tile_.rows));
  }

  // By shapes alone: scores fit the second-level cache, and there is work for several threads; each tile reads K and V again.
  int64_t RowsOfTile() const {
    constexpr int64_t kBytes = 1 << 20, kLeast = 32, kTasks = 8;
    const int64_t fitting = kBytes / (kFloat * std::max<int64_t>(1, positions_)) / 16 * 16;
    const int64_t shared = (rows_ * matrices_ / kTasks + 15) / 16 * 16;
    return std::max<int64_t>(1, std::min(rows_, std::max(kLeast, std::min(fitting, shared))));
  }

  // Neighbours that are computed at once where their scores fit the cache: a call of the library costs as much as small products.
  int64_t Group() const {
    constexpr int64_t kBytes = 1 << 19, kTasks = 4;
    if (tile_.rows < rows_ || repeats() || lead_.empty()) return 1;
    for (const Stack* s : {&q_, &k_, &v_}) {
      if (s->strides.back() != 1) return 1;
    }
    int64_t group = 1;
    for (int64_t g = 2; g <= lead_.back() && g * rows_ * positions_ * kFloat <= kBytes && matrices_ / g >= kTasks; ++g) {
      if (lead_.back() % g == 0) group = g;
    }
    return group;
  }

  int64_t keys() const { return trans_k_ ? k_.rows : k_.cols; }
  // Of a tile of each of a group: the scores, those of the product where they repeat, and a row of the mask.
  bool repeats() const { return q_.rows != rows_ || keys() != positions_; }
  int64_t ScoreBytes() const { return Aligned(group_ * tile_.rows * positions_ * kFloat); }
  int64_t tile_bytes() const {
    return ScoreBytes() + (repeats() ? Aligned(tile_.rows * keys() * kFloat) : 0) + Aligned(positions_ * kFloat);
  }

  absl::Status Prepare(Tile* tile) {
    if (positions_ == 0) return absl::OkStatus();
    MatmulSpec scores;
    scores.m = q_.rows == 1 ? 1 : tile->rows;
    scores.n = keys();
    scores.k = q_.cols;
    scores.trans_b = trans_k_;
    scores.scale = scale_;
    scores.native_bf16 = bf16_ && scores.n >= 16 && scores.k >= 16;  // in whichever type Q and K are stored
    scores.a_storage = q_.storage;
    scores.b_storage = k_.storage;
    MatmulSpec values;
    values.m = tile->rows;
    values.n = width_;
    values.k = positions_;
    values.native_bf16 = bf16_ && values.n >= 16 && values.k >= 16;
    values.b_storage = v_.storage;
    values.out_storage = out_storage_;
    if (group_ > 1) scores.a_batch = scores.b_batch = values.a_batch = values.b_batch = {group_};
    if (q_.cols > 0) {
      AMPC_ASSIGN_OR_RETURN(tile->scores, MakeMatmul(scores, nullptr, nullptr));
      products_ = std::max(products_, Aligned(tile->scores->workspace_bytes()));
    }
    AMPC_ASSIGN_OR_RETURN(tile->values, MakeMatmul(values, nullptr, nullptr));
    products_ = std::max(products_, Aligned(tile->values->workspace_bytes()));
    return absl::OkStatus();
  }

  // The matrix of `stack` for matrix `at` of the result.
  int64_t MatrixOf(const Stack& stack, int64_t at) const {
    int64_t matrix = 0;
    for (size_t d = lead_.size(); d-- > 0; at /= lead_[d]) matrix += at % lead_[d] * stack.strides[d];
    return matrix;
  }
  static const char* At(const KernelArgs& args, const Stack& stack, int64_t element) {
    return static_cast<const char*>(args.inputs[stack.flat]) + element * static_cast<int64_t>(SizeOf(stack.storage));
  }

  // Rows [first, ...) of matrix `at` of the result and of the others of its group.
  absl::Status RunTile(const KernelArgs& args, int64_t at, int64_t first, char* room) const {
    const Tile& tile = rows_ - first < tile_.rows ? rest_ : tile_;
    char* const out = static_cast<char*>(args.outputs[0]) + (at * rows_ + first) * width_ * static_cast<int64_t>(SizeOf(out_storage_));
    if (positions_ == 0) {
      std::fill_n(out, group_ * tile.rows * width_ * static_cast<int64_t>(SizeOf(out_storage_)), 0);
      return absl::OkStatus();
    }
    float* const scores = reinterpret_cast<float*>(room);
    char* const workspace = room + tile_bytes();
    float* const made = repeats() ? scores + ScoreBytes() / kFloat : scores;
    const int64_t q_row = q_.rows == 1 ? 0 : first;
    if (tile.scores == nullptr) {
      std::fill_n(made, group_ * tile.rows * keys(), 0.0f);
    } else {
      AMPC_RETURN_IF_ERROR(tile.scores->Run({At(args, q_, MatrixOf(q_, at) * q_.size() + q_row * q_.cols),
                                             At(args, k_, MatrixOf(k_, at) * k_.size()), nullptr, made, workspace}));
    }
    if (repeats()) Repeat(made, tile.rows, scores);
    for (int64_t g = 0; g < group_; ++g) AddMask(args, at + g, first, tile.rows, scores + g * tile.rows * positions_, room);
    for (int64_t r = 0; r < group_ * tile.rows; ++r) Weigh(scores + r * positions_);
    return tile.values->Run({scores, At(args, v_, MatrixOf(v_, at) * v_.size()), nullptr, out, workspace});
  }

  // A softmax with one NaN has no other values.
  void Weigh(float* row) const {
    simd::SoftmaxRow(row, row, positions_);
    if (nan_to_zero_ && std::isnan(row[0])) std::fill_n(row, positions_, 0.0f);
  }

  // One query or one key where the mask has more.
  void Repeat(const float* made, int64_t rows, float* scores) const {
    for (int64_t r = 0; r < rows; ++r) {
      const float* const from = made + (q_.rows == 1 ? 0 : r * keys());
      for (int64_t c = 0; c < positions_; ++c) scores[r * positions_ + c] = from[keys() == 1 ? 0 : c];
    }
  }

  void AddMask(const KernelArgs& args, int64_t at, int64_t first, int64_t rows, float* scores, char* room) const {
    if (mask_.flat < 0) return;
    float* const widened = reinterpret_cast<float*>(room + tile_bytes() - Aligned(positions_ * kFloat));
    const int64_t start = MatrixOf(mask_, at) * mask_.size();
    const float* row = nullptr;
    for (int64_t r = 0; r < rows; ++r) {
      if (row == nullptr || mask_.rows > 1) {
        row = FloatsAt(args.inputs[mask_.flat], mask_.storage, start + (mask_.rows > 1 ? first + r : 0) * mask_.cols, mask_.cols, widened);
      }
      float* const to = scores + r * positions_;
      if (mask_.cols == 1) {
        for (int64_t c = 0; c < positions_; ++c) to[c] += row[0];
      } else {
        simd::AddRow(row, to, positions_);
      }
    }
  }

  const int threads_;
  Stack q_, k_, v_, mask_;
  bool trans_k_ = false, nan_to_zero_ = false, bf16_ = false;
  float scale_ = 1;
  DType out_storage_ = DType::kF32;
  std::vector<int64_t> lead_;
  int64_t matrices_ = 1, rows_ = 0, width_ = 0, positions_ = 0, workers_ = 1;
  int64_t group_ = 1;     // matrices of the result that a task computes
  int64_t products_ = 0;  // bytes of workspace of a product
  Tile tile_, rest_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  if (spec.outputs[0].NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  absl::StatusOr<std::unique_ptr<Kernel>> kernel = AttentionKernel::Make(spec);
  return kernel.ok() ? std::move(kernel) : Annotate(kernel.status(), Describe(view.op()));
}

}  // namespace

absl::Status RegisterAttention(KernelRegistry* registry) {
  return registry->Add(
      {"fused_attention", &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kPlainOnly, nullptr, HalfSupport::kEach});
}

}  // namespace ampc
