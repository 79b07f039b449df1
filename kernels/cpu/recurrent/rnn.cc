// rnn: LSTM, GRU and simple recurrent networks of several layers and one or two directions. One matrix product per layer and direction has
// the part of the input in all gates of all steps; a step is a product with the state and the gates' arithmetic. States stay f32 inside.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/recurrent/rnn_spec.h"
#include "kernels/cpu/simd/gates.h"
#include "kernels/kernel_registry.h"
#include "kernels/lasting_tensor.h"
#include "kernels/lib/matmul.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 11;  // numbers of a state that are worth a thread
// Sequences, and bytes of weights, up to which a product with the state takes less time than the call of a library, which has no halves.
constexpr int64_t kFewSequences = 4, kFewBytes = 1 << 19, kFewHalves = 1 << 21;
// Columns of weights that lie one behind the other, and weights that are worth a thread.
constexpr int64_t kBlock = 128, kThreadWeights = 1 << 16;

int64_t PaddedColumns(const RnnSizes& s) { return (s.gate_row() + 15) / 16 * 16; }

// Numbers of the state that a stored weight is for, and stored rows of weights.
template <typename T>
constexpr int64_t kTogether = std::is_same_v<T, simd::BFloat16Pair> ? 2 : 1;
template <typename T>
int64_t StoredRows(const RnnSizes& s) {
  return (s.hidden + kTogether<T> - 1) / kTogether<T>;
}

// One layer in one direction.
struct Cell {
  std::unique_ptr<onednn::Matmul> from_input, from_state;
  WeightCache::Packed columns;  // in place of from_state: blocks of columns, each by numbers of the state
  int input_weight = 0, state_weight = 0, input_bias = 0, state_bias = 0;  // flat operands
  bool packed_input = false, packed_state = false;
};

// Offsets in floats, each a multiple of 16.
struct Workspace {
  int64_t bias, gates, step, h, c, layer[2], product, size = 0;

  explicit Workspace(const RnnSizes& s, int64_t product_bytes) {
    bias = Take(s.gate_row());
    gates = Take(s.time * s.batch * s.gate_row());
    step = Take(s.batch * s.gate_row() + 16);
    h = Take(s.state());
    c = Take(s.state());
    for (int64_t& l : layer) l = Take(s.layers > 1 ? s.time * s.state() * s.directions : 0);
    product = Take((product_bytes + 3) / 4);
  }

 private:
  int64_t Take(int64_t n) {
    const int64_t at = size;
    size += (n + 15) / 16 * 16;
    return at;
  }
};

class RnnKernel final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec);

  int64_t workspace_bytes() const override { return workspace_.size * static_cast<int64_t>(sizeof(float)); }
  std::string implementation() const override {
    return cells_.empty() || cells_[0].columns != nullptr ? "ampc:simd" : cells_[0].from_state->implementation();
  }
  bool consumes(int flat) const override {
    return std::any_of(cells_.begin(), cells_.end(), [flat](const Cell& c) {
      return (c.packed_input && c.input_weight == flat) || (c.packed_state && c.state_weight == flat);
    });
  }
  absl::Status Run(const KernelArgs& args) const override;

 private:
  // The operands and results of a run of one cell.
  struct Pass {
    const float* x;  // [time, batch, in]
    float* out;      // [time, batch, row], this direction's part
    int64_t row;     // numbers from sample to sample of out
    bool backward;
    int64_t cell;
  };

  RnnKernel(const RnnSizes& sizes, std::vector<Cell> cells, Workspace workspace)
      : sizes_(sizes), cells_(std::move(cells)), workspace_(workspace) {}
  absl::Status RunCell(const KernelArgs& args, const Pass& pass) const;
  absl::Status MultiplyState(const KernelArgs& args, const Cell& cell) const;
  template <typename T>
  void MultiplyColumns(const KernelArgs& args, const T* columns) const;
  void Step(const KernelArgs& args, const Pass& pass, int64_t t) const;

  const RnnSizes sizes_;
  const std::vector<Cell> cells_;
  const Workspace workspace_;
  RnnLengths lengths_;
  int x_ = 0, before_h_ = 0, before_c_ = -1;  // flat operands
  int out_ = 0, after_h_ = 0, after_c_ = -1;  // flat results
};

// The gates of step `t` for all samples, into the state and `pass.out`.
void RnnKernel::Step(const KernelArgs& args, const Pass& pass, int64_t t) const {
  float* w = static_cast<float*>(args.workspace);
  const RnnSizes& s = sizes_;
  const float* state_bias = static_cast<const float*>(args.inputs[cells_[pass.cell].state_bias]);
  ParallelFor(args.threads, s.batch, std::max<int64_t>(1, kGrain / s.hidden), [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const float* x = w + workspace_.gates + (t * s.batch + b) * s.gate_row();
      const float* from_state = w + workspace_.step + b * s.gate_row();
      float *h = w + workspace_.h + b * s.hidden, *c = w + workspace_.c + b * s.hidden;
      float* out = pass.out + (t * s.batch + b) * pass.row;
      if (t >= lengths_.Of(args, b)) {  // the state stays
        std::fill(out, out + s.hidden, 0.0f);
        continue;
      }
      switch (s.mode) {
        case RnnMode::kLstm: simd::LstmRow(x, from_state, c, c, h, s.hidden); break;
        case RnnMode::kGru: simd::GruRow(x, from_state, state_bias + 2 * s.hidden, h, h, s.hidden); break;
        case RnnMode::kTanh: simd::TanhRow(x, from_state, h, s.hidden); break;
        case RnnMode::kRelu: simd::ReluRow(x, from_state, h, s.hidden); break;
      }
      std::copy(h, h + s.hidden, out);
    }
  });
}

// The products of all states with the weights of their gates.
absl::Status RnnKernel::MultiplyState(const KernelArgs& args, const Cell& cell) const {
  float* const w = static_cast<float*>(args.workspace);
  if (cell.columns == nullptr) {
    const auto* weight = static_cast<const float*>(args.inputs[cell.state_weight]);
    return cell.from_state->Run(
        {w + workspace_.h, cell.packed_state ? nullptr : weight, nullptr, w + workspace_.step, w + workspace_.product});
  }
  const HostTensor& columns = *cell.columns;
  if (columns.dtype() == DType::kBF16) {
    MultiplyColumns(args, reinterpret_cast<const simd::BFloat16Pair*>(columns.values<BFloat16>().data()));
  } else if (columns.dtype() == DType::kF16) {
    MultiplyColumns(args, columns.values<Half>().data());
  } else {
    MultiplyColumns(args, columns.values<float>().data());
  }
  return absl::OkStatus();
}

// `columns` are those of all gates, as ByState has them. A padded one is written to the next row of results, which comes later.
template <typename T>
void RnnKernel::MultiplyColumns(const KernelArgs& args, const T* columns) const {
  float* const w = static_cast<float*>(args.workspace);
  const int64_t all = PaddedColumns(sizes_), blocks = (all + kBlock - 1) / kBlock;
  const int64_t grain = all > sizes_.gate_row() ? blocks : std::max<int64_t>(1, kThreadWeights / (kBlock * sizes_.hidden));
  ParallelFor(args.threads, blocks, grain, [&](int64_t first, int64_t last) {
    for (int64_t b = 0; b < sizes_.batch; ++b) {
      for (int64_t k = first; k < last; ++k) {
        simd::StateTimesMatrix(w + workspace_.h + b * sizes_.hidden, columns + k * kBlock * StoredRows<T>(sizes_), sizes_.hidden,
                               std::min(kBlock, all - k * kBlock), w + workspace_.step + b * sizes_.gate_row() + k * kBlock);
      }
    }
  });
}

absl::Status RnnKernel::RunCell(const KernelArgs& args, const Pass& pass) const {
  float* w = static_cast<float*>(args.workspace);
  const Cell& cell = cells_[pass.cell];
  const auto in = [&args](int i) { return static_cast<const float*>(args.inputs[i]); };
  const int64_t state = pass.cell * sizes_.state();
  const size_t bytes = static_cast<size_t>(sizes_.state()) * sizeof(float);
  std::memcpy(w + workspace_.h, in(before_h_) + state, bytes);
  if (before_c_ >= 0) std::memcpy(w + workspace_.c, in(before_c_) + state, bytes);
  if (sizes_.time > 0) {
    JoinBiases(sizes_, in(cell.input_bias), in(cell.state_bias), w + workspace_.bias);
    AMPC_RETURN_IF_ERROR(cell.from_input->Run(
        {pass.x, cell.packed_input ? nullptr : in(cell.input_weight), w + workspace_.bias, w + workspace_.gates, w + workspace_.product}));
  }
  for (int64_t i = 0; i < sizes_.time; ++i) {
    AMPC_RETURN_IF_ERROR(MultiplyState(args, cell));
    Step(args, pass, pass.backward ? sizes_.time - 1 - i : i);
  }
  std::memcpy(static_cast<float*>(args.outputs[after_h_]) + state, w + workspace_.h, bytes);
  if (after_c_ >= 0) std::memcpy(static_cast<float*>(args.outputs[after_c_]) + state, w + workspace_.c, bytes);
  return absl::OkStatus();
}

absl::Status RnnKernel::Run(const KernelArgs& args) const {
  AMPC_RETURN_IF_ERROR(lengths_.Check(args));
  if (sizes_.state() == 0) return absl::OkStatus();
  float* w = static_cast<float*>(args.workspace);
  const float* x = static_cast<const float*>(args.inputs[x_]);
  for (int64_t layer = 0; layer < sizes_.layers; ++layer) {
    float* out = layer + 1 == sizes_.layers ? static_cast<float*>(args.outputs[out_]) : w + workspace_.layer[layer % 2];
    for (int64_t d = 0; d < sizes_.directions; ++d) {
      AMPC_RETURN_IF_ERROR(
          RunCell(args, {x, out + d * sizes_.hidden, sizes_.directions * sizes_.hidden, d == 1, layer * sizes_.directions + d}));
    }
    x = out;
  }
  return absl::OkStatus();
}

// `weight`, [gates, state], as MultiplyColumns<T> reads it, of numbers of type E.
template <typename T, typename E = T>
absl::StatusOr<WeightCache::Packed> ByState(const KernelSpec& spec, const HostTensor& weight, const RnnSizes& s) {
  const std::string format = absl::StrCat("rnn state columns ", Name(kDTypeOf<E>), kTogether<T> > 1 ? " by two" : "");
  return GetPacked(spec.weights, &weight, format, [&]() -> absl::StatusOr<WeightCache::Packed> {
    const int64_t all = PaddedColumns(s), rows = StoredRows<T>(s);
    AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<HostTensor> packed, CreateLasting(kDTypeOf<E>, {rows * kTogether<T>, all}));
    const auto from = weight.values<float>();
    const auto to = packed->mutable_values<E>();
    std::fill(to.begin(), to.end(), E{});
    for (int64_t r = 0; r < s.gate_row(); ++r) {
      const int64_t first = r / kBlock * kBlock, width = std::min(kBlock, all - first);
      for (int64_t k = 0; k < s.hidden; ++k) {
        const int64_t stored = first * rows + k / kTogether<T> * width + r - first;
        to[stored * kTogether<T> + k % kTogether<T>] = E(from[r * s.hidden + k]);
      }
    }
    return packed;
  });
}

template <typename T>
bool HoldsOnly(const HostTensor& floats) {
  const auto values = floats.values<float>();
  return std::all_of(values.begin(), values.end(), [](float v) { return static_cast<float>(T(v)) == v || std::isnan(v); });
}

// The columns in the type that the weight is declared; null where a library multiplies faster.
absl::StatusOr<WeightCache::Packed> GetColumns(const KernelSpec& spec, DType type, const HostTensor& weight, const RnnSizes& s) {
  const int64_t elements = s.hidden * s.gate_row();
  if (s.batch > kFewSequences) return WeightCache::Packed();
  if (elements * 2 <= kFewHalves) {
    if (type == DType::kBF16 && HoldsOnly<BFloat16>(weight)) return ByState<simd::BFloat16Pair, BFloat16>(spec, weight, s);
    if (type == DType::kF16 && HoldsOnly<Half>(weight)) return ByState<Half>(spec, weight, s);
  }
  return elements * 4 <= kFewBytes ? ByState<float>(spec, weight, s) : WeightCache::Packed();
}

// The products of cell number `i`; WeightList holds all weights, then all biases.
absl::StatusOr<Cell> MakeCell(const SpecView& view, const RnnSizes& s, int64_t i) {
  const KernelSpec& spec = view.spec();
  const int at = static_cast<int>(2 * i), cells = static_cast<int>(s.layers * s.directions);
  Cell cell;
  cell.input_weight = view.In("WeightList", at);
  cell.state_weight = view.In("WeightList", at + 1);
  cell.input_bias = view.In("WeightList", 2 * cells + at);
  cell.state_bias = view.In("WeightList", 2 * cells + at + 1);
  onednn::MatmulSpec m;
  m.m = s.time * s.batch;
  m.n = s.gate_row();
  m.k = i < s.directions ? s.features : s.hidden * s.directions;
  m.trans_b = true;
  m.has_bias = true;
  m.threads = spec.threads;
  m.native_bf16 = i < s.directions && view.InDesc("Input").dtype == DType::kBF16;  // states are float32
  if (spec.inputs[cell.input_weight].NumElements() != m.n * m.k || spec.inputs[cell.state_weight].NumElements() != m.n * s.hidden ||
      spec.inputs[cell.input_bias].NumElements() != m.n || spec.inputs[cell.state_bias].NumElements() != m.n) {
    return view.Internal("a weight does not fit");
  }
  if (s.time > 0) {
    AMPC_ASSIGN_OR_RETURN(cell.from_input, onednn::MakeMatmul(m, spec.values[cell.input_weight], spec.weights));
    cell.packed_input = spec.values[cell.input_weight] != nullptr;
  }
  const HostTensor* state_weight = spec.values[cell.state_weight];
  if (state_weight != nullptr) {
    AMPC_ASSIGN_OR_RETURN(cell.columns, GetColumns(spec, spec.inputs[cell.state_weight].dtype, *state_weight, s));
    cell.packed_state = true;
    if (cell.columns != nullptr) return cell;
  }
  m.m = s.batch;
  m.k = s.hidden;
  m.has_bias = m.native_bf16 = false;
  AMPC_ASSIGN_OR_RETURN(cell.from_state, onednn::MakeMatmul(m, state_weight, spec.weights));
  return cell;
}

absl::StatusOr<std::unique_ptr<Kernel>> RnnKernel::Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("Input").dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(const RnnSizes s, ReadRnn(view));
  std::vector<Cell> cells;
  int64_t product_bytes = 0;
  for (int64_t i = 0; i < s.layers * s.directions && s.batch > 0; ++i) {
    absl::StatusOr<Cell> cell = MakeCell(view, s, i);
    if (!cell.ok()) return Annotate(cell.status(), Describe(view.op()));
    if (cell->from_input != nullptr) product_bytes = std::max(product_bytes, cell->from_input->workspace_bytes());
    if (cell->from_state != nullptr) product_bytes = std::max(product_bytes, cell->from_state->workspace_bytes());
    cells.push_back(*std::move(cell));
  }
  std::unique_ptr<RnnKernel> kernel(new RnnKernel(s, std::move(cells), Workspace(s, product_bytes)));
  kernel->x_ = view.In("Input");
  kernel->before_h_ = view.In("PreState", 0);
  kernel->before_c_ = view.In("PreState", 1);
  AMPC_ASSIGN_OR_RETURN(kernel->lengths_, ReadLengths(view, s));
  kernel->out_ = view.Out("Out");
  kernel->after_h_ = view.Out("State", 0);
  kernel->after_c_ = view.Out("State", 1);
  return kernel;
}

}  // namespace

absl::Status RegisterRnn(KernelRegistry* registry) {
  return registry->Add({"rnn", &RnnKernel::Make, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc
