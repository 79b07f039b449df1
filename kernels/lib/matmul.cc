#include "kernels/lib/matmul.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "graph/base/aligned.h"
#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "kernels/halves.h"
#include "kernels/kernel_choices.h"
#include "kernels/layout.h"
#include "kernels/lib/kernel_name.h"
#include "kernels/lib/matmul_choice.h"
#include "kernels/lib/matmul_nan.h"
#include "kernels/lib/measure.h"
#include "kernels/lib/onednn_primitive.h"
#include "kernels/nan_watch.h"
#include "kernels/parallel.h"

namespace ampc::onednn {
namespace {

bool SameSize(const ProductPart& a, const ProductPart& b) { return a.b == b.b && a.m == b.m && a.n == b.n; }

// Whether oneDNN's order of summation may depend on the number of threads: its gemm divides sums among threads; its brgemm does so
// for long sums of a transposed a, and blocks long sums of bf16 by threads, except on one packed matrix.
bool DependsOnThreads(const MatmulSpec& s, const ProductChoice& c, bool packed_b) {
  if (!absl::StartsWith(ImplementationOf(c.pd.get()), "brg")) return true;
  return s.k >= 16384 || (s.trans_a && s.k >= 2048) || (c.bf16() && s.k >= 1024 && !(packed_b && s.a_batch.empty()));
}

// The cut of the product then, by the shapes alone; each part runs on one thread. brgemm writes whole rows only: a cut goes between
// matrices, between rows, or through a result of one row.
std::vector<ProductPart> Cut(const MatmulSpec& s, bool whole_rows, bool bf16) {
  constexpr double kLeastWork = 4e5;  // multiply-adds of a part: 5 to 10 us
  constexpr int64_t kMostParts = 16;
  const int64_t least_side = bf16 ? 128 : 16;  // matrix units read b again for every part
  const bool by_batch = s.a_batch.size() == 1 && s.a_batch == s.b_batch;
  const ProductPart whole = WholeProduct(s);
  if (!s.a_batch.empty() && !by_batch) return {whole};
  ProductPart size = whole;
  double work =
      static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) * static_cast<double>(std::max<int64_t>(1, size.b));
  for (int64_t parts = 1; parts < kMostParts && work >= 2 * kLeastWork; parts *= 2, work /= 2) {
    const bool rows = whole_rows ? s.m > 1 : size.m >= size.n;
    int64_t* const side = by_batch ? &size.b : rows ? &size.m : &size.n;
    if (*side < (by_batch ? 2 : 2 * least_side)) break;
    *side = by_batch ? (*side + 1) / 2 : (*side / 2 + least_side - 1) / least_side * least_side;
  }
  std::vector<ProductPart> parts;
  for (int64_t b = 0; b == 0 || b < whole.b; b += std::max<int64_t>(1, size.b)) {
    for (int64_t m = 0; m < s.m; m += size.m) {
      for (int64_t n = 0; n < s.n; n += size.n) {
        parts.push_back({b, std::min(size.b, whole.b - b), m, std::min(size.m, s.m - m), n, std::min(size.n, s.n - n)});
      }
    }
  }
  return parts;
}

// A team of threads costs more than this many multiply-adds on one.
constexpr double kWorkOfOneThread = 1e5;

int UsefulThreads(const MatmulSpec& s) {
  const double batch = static_cast<double>(std::max(Product(s.a_batch), Product(s.b_batch)));
  return batch * static_cast<double>(s.m * s.n) * static_cast<double>(s.k) < kWorkOfOneThread ? 1 : s.threads;
}

// Whether a b that changes with every run is packed before the product: brgemm reads large row-major ones slowly.
bool RepackPays(const MatmulSpec& s, const ProductChoice& c) {
  constexpr int64_t kLarge = 1 << 20, kVeryLarge = 6 << 20;  // elements
  if (s.trans_b || !s.b_batch.empty() || c.bf16() || !absl::StartsWith(ImplementationOf(c.pd.get()), "brg")) return false;
  return (s.m >= 256 && s.k * s.n >= kLarge) || (s.m >= 32 && s.k * s.n >= kVeryLarge);
}

// Whether a transposed a is copied row by row before the product.
bool CopyPays(const MatmulSpec& s) { return s.trans_a && s.a_batch.empty() && s.n >= 256 && s.k >= 64 && s.m * s.k >= (1 << 16); }

class OneDnnMatmul final : public Matmul {
 public:
  static absl::StatusOr<std::unique_ptr<Matmul>> Make(const MatmulSpec& given, const HostTensor* b, WeightCache* cache) {
    const ScopedThreads one(1);
    std::unique_ptr<OneDnnMatmul> mm(new OneDnnMatmul(Simplified(given)));
    if (CopyPays(mm->s_)) {
      mm->copies_a_ = true;
      mm->s_.trans_a = false;
    }
    const MatmulSpec& s = mm->s_;
    mm->constant_b_ = b != nullptr;
    if (b != nullptr) mm->s_.b_storage = DType::kBF16;  // packed in whichever type is multiplied
    AMPC_ASSIGN_OR_RETURN(ProductChoice whole, ChooseProduct(s, WholeProduct(s), b != nullptr));
    if (b == nullptr && RepackPays(s, whole)) AMPC_RETURN_IF_ERROR(mm->PrepareRepack(&whole));
    const bool pack_b = b != nullptr || mm->repack_ != nullptr;
    const std::string name = ImplementationOf(whole.pd.get());
    mm->type_ = whole.type;
    mm->out_type_ = whole.out_type;
    mm->implementation_ = NameOf(whole.pd.get(), whole.type);
    if (!DependsOnThreads(s, whole, pack_b)) {
      const ScopedThreads threads(UsefulThreads(s));
      AMPC_ASSIGN_OR_RETURN(whole, ChooseProduct(s, WholeProduct(s), pack_b));
      if (ImplementationOf(whole.pd.get()) == name && mm->TakesPacked(whole)) {
        mm->threads_of_part_ = UsefulThreads(s);
        AMPC_RETURN_IF_ERROR(mm->Add(WholeProduct(s), whole, b, cache));
      }
    }
    if (mm->parts_.empty()) AMPC_RETURN_IF_ERROR(mm->AddParts(name, b, cache));
    mm->PlanWorkspace();
    return mm;
  }

  int64_t workspace_bytes() const override { return workspace_bytes_; }
  std::string implementation() const override { return implementation_; }

  absl::Status Run(const MatmulBuffers& buffers) const override {
    char* const ws = static_cast<char*>(buffers.workspace);
    const void* a = buffers.a;
    if (a_ >= 0) {
      if (copies_a_) {
        TransposeStored(s_.threads, 1, s_.k, s_.m, a, s_.a_storage, ws + a_, type_);
      } else {
        ConvertStored(a, s_.a_storage, ws + a_, type_, AElements(), s_.threads);
      }
      a = ws + a_;
    }
    const void* b = buffers.b;
    if (b_ >= 0) {
      ConvertStored(b, s_.b_storage, ws + b_, type_, BElements(), s_.threads);
      b = ws + b_;
    }
    if (repack_ != nullptr) {
      const ScopedThreads threads(s_.threads);
      AMPC_RETURN_IF_ERROR(repack_->Execute({b, ws + repacked_, ws + scratchpads_}));
      b = ws + repacked_;
    }
    void* const out = out_ >= 0 ? ws + out_ : buffers.out;
    AMPC_RETURN_IF_ERROR(RunParts(a, b, buffers, out));
    if (out_ >= 0) ConvertStored(out, out_type_, buffers.out, s_.out_storage, OutElements(), s_.threads);
    return absl::OkStatus();
  }

 private:
  absl::Status RunParts(const void* a, const void* b, const MatmulBuffers& buffers, void* out) const {
    if (parts_.size() == 1) {
      const ScopedThreads threads(threads_of_part_);
      AMPC_RETURN_IF_ERROR(RunPart(0, a, b, buffers, out));
      if (buffers.met_nan != nullptr && TakeMetNanOf(threads_of_part_)) *buffers.met_nan = true;
      return absl::OkStatus();
    }
    std::atomic<bool> ok{true};
    ParallelFor(s_.threads, static_cast<int64_t>(parts_.size()), 1, [&](int64_t first, int64_t last) {
      const ScopedThreads one(1);
      for (int64_t i = first; i < last; ++i) {
        if (!RunPart(i, a, b, buffers, out).ok()) ok = false;
      }
      if (buffers.met_nan != nullptr && TakeMetNan()) *buffers.met_nan = true;
    });
    return ok ? absl::OkStatus() : InternalError("oneDNN: a part of a matrix product failed");
  }

  struct Prepared {
    ProductPart part;
    std::shared_ptr<const Primitive> primitive;
    int64_t a, b, out;             // first elements
    WeightCache::Packed packed_b;  // a constant b, in the primitive's order
  };

  explicit OneDnnMatmul(MatmulSpec spec) : s_(std::move(spec)) {}
  int64_t AElements() const { return Product(s_.a_batch) * s_.m * s_.k; }
  int64_t BElements() const { return Product(s_.b_batch) * BSize(s_); }
  int64_t OutElements() const {
    int64_t n = s_.m * s_.n;
    for (size_t i = 0; i < s_.a_batch.size(); ++i) n *= std::max(s_.a_batch[i], s_.b_batch[i]);
    return n;
  }

  // `whole` becomes the product with a packed b.
  absl::Status PrepareRepack(ProductChoice* whole) {
    AMPC_ASSIGN_OR_RETURN(ProductChoice packed, ChooseProduct(s_, WholeProduct(s_), true));
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc plain, BDesc(s_, WholeProduct(s_), dnnl_f32));
    AMPC_ASSIGN_OR_RETURN(repack_, Primitive::CreateReorder(plain, packed.b));
    packed_b_ = packed.b;
    *whole = std::move(packed);
    return absl::OkStatus();
  }

  // A b that is packed in the run is one for all parts.
  bool TakesPacked(const ProductChoice& c) const { return repack_ == nullptr || dnnl_memory_desc_equal(&c.b, &packed_b_) != 0; }

  // The parts of a cut, or the whole on one thread where a part would run another implementation than the whole.
  absl::Status AddParts(const std::string& name, const HostTensor* b, WeightCache* cache) {
    const bool pack_b = b != nullptr || repack_ != nullptr;
    std::vector<std::pair<ProductPart, ProductChoice>> choices;  // of the sizes so far
    for (const ProductPart& part : Cut(s_, absl::StartsWith(name, "brg"), type_ == DType::kBF16)) {
      const auto same = [&part](const auto& seen) { return SameSize(seen.first, part); };
      auto at = std::find_if(choices.begin(), choices.end(), same);
      if (at == choices.end()) {
        AMPC_ASSIGN_OR_RETURN(ProductChoice c, ChooseProduct(s_, part, pack_b));
        if (ImplementationOf(c.pd.get()) != name || (repack_ != nullptr && part.n < s_.n) || !TakesPacked(c)) {
          parts_.clear();
          AMPC_ASSIGN_OR_RETURN(c, ChooseProduct(s_, WholeProduct(s_), pack_b));
          return Add(WholeProduct(s_), c, b, cache);
        }
        at = choices.emplace(choices.end(), part, std::move(c));
      }
      AMPC_RETURN_IF_ERROR(Add(part, at->second, b, cache));
    }
    return absl::OkStatus();
  }

  absl::Status Add(const ProductPart& part, const ProductChoice& c, const HostTensor* b, WeightCache* cache) {
    Prepared p{part,
               nullptr,
               part.b0 * s_.m * s_.k + part.m0 * (s_.trans_a ? 1 : s_.k),
               part.b0 * BSize(s_) + part.n0 * (s_.trans_b ? BRow(s_) : 1),
               part.b0 * s_.m * s_.n + part.m0 * s_.n + part.n0,
               nullptr};
    if (b != nullptr) {
      AMPC_ASSIGN_OR_RETURN(const MemoryDesc plain, BDesc(s_, part, dnnl_f32));
      AMPC_ASSIGN_OR_RETURN(p.packed_b, Pack(*b, p.b, plain, c.b, cache));
    }
    for (const Prepared& other : parts_) {
      if (SameSize(other.part, part)) p.primitive = other.primitive;
    }
    if (p.primitive == nullptr) {
      std::vector<Primitive::Arg> args = {{DNNL_ARG_SRC, c.a}, {DNNL_ARG_WEIGHTS, c.b}, {DNNL_ARG_DST, c.out}};
      if (s_.has_bias) args.push_back({DNNL_ARG_BIAS, c.bias});
      AMPC_ASSIGN_OR_RETURN(p.primitive, Primitive::Create(c.pd.get(), std::move(args)));
      scratchpad_bytes_ = std::max(scratchpad_bytes_, Aligned(p.primitive->scratchpad_bytes()));
    }
    parts_.push_back(std::move(p));
    return absl::OkStatus();
  }

  absl::Status RunPart(int64_t i, const void* a, const void* b, const MatmulBuffers& buffers, void* out) const {
    const Prepared& p = parts_[i];
    char* const ws = static_cast<char*>(buffers.workspace);
    const int64_t size = static_cast<int64_t>(SizeOf(type_)), out_size = static_cast<int64_t>(SizeOf(out_type_));
    const void* part_b = p.packed_b != nullptr ? p.packed_b->data() : static_cast<const char*>(b) + p.b * size;
    std::array<const void*, 5> all = {static_cast<const char*>(a) + p.a * size, part_b, static_cast<char*>(out) + p.out * out_size};
    size_t count = 3;
    if (s_.has_bias) all[count++] = buffers.bias + p.part.n0;
    all[count++] = ws + scratchpads_ + i * scratchpad_bytes_;
    return p.primitive->Execute(absl::MakeConstSpan(all.data(), count));
  }

  void PlanWorkspace() {
    const auto take = [this](int64_t bytes) { return std::exchange(workspace_bytes_, workspace_bytes_ + Aligned(bytes)); };
    const int64_t size = static_cast<int64_t>(SizeOf(type_));
    if (copies_a_ || s_.a_storage != type_) a_ = take(AElements() * size);
    if (!constant_b_ && s_.b_storage != type_) b_ = take(BElements() * size);
    if (repack_ != nullptr) {
      repacked_ = take(Bytes(packed_b_));
      scratchpad_bytes_ = std::max(scratchpad_bytes_, Aligned(repack_->scratchpad_bytes()));
    }
    if (s_.out_storage != out_type_) out_ = take(OutElements() * static_cast<int64_t>(SizeOf(out_type_)));
    scratchpads_ = workspace_bytes_;
    workspace_bytes_ += scratchpad_bytes_ * static_cast<int64_t>(parts_.size());
  }

  MatmulSpec s_;
  std::string implementation_;
  bool copies_a_ = false;              // a comes transposed and is copied to rows
  std::unique_ptr<Primitive> repack_;  // of a b that comes with every run; null where it is read as it lies
  MemoryDesc packed_b_ = {};
  bool constant_b_ = false;
  DType type_ = DType::kF32, out_type_ = DType::kF32;
  int threads_of_part_ = 1;
  std::vector<Prepared> parts_;  // parts of one size share a primitive
  // Offsets in the workspace; -1 for what is used where it lies.
  int64_t a_ = -1, b_ = -1, repacked_ = -1, out_ = -1, scratchpads_ = 0;
  int64_t scratchpad_bytes_ = 0;  // of one part
  int64_t workspace_bytes_ = 0;
};

// The implementation that computes made-up operands fastest.
absl::StatusOr<std::string> Measure(const MatmulSpec& given, const HostTensor* b) {
  MatmulSpec spec = given;
  spec.choices = nullptr;
  AMPC_ASSIGN_OR_RETURN(std::vector<std::string> names, ProductImplementations(Simplified(spec), b != nullptr));
  const auto bytes = [](int64_t elements, DType type) { return elements * static_cast<int64_t>(SizeOf(type)); };
  int64_t stacks = 1;
  for (size_t i = 0; i < spec.a_batch.size(); ++i) stacks *= std::max(spec.a_batch[i], spec.b_batch[i]);
  MadeOperands made;
  MatmulBuffers buffers;
  AMPC_ASSIGN_OR_RETURN(buffers.a, made.Add(bytes(Product(spec.a_batch) * spec.m * spec.k, spec.a_storage)));
  AMPC_ASSIGN_OR_RETURN(buffers.b, made.Add(b == nullptr ? bytes(Product(spec.b_batch) * BSize(spec), spec.b_storage) : 0));
  AMPC_ASSIGN_OR_RETURN(void* const bias, made.Add(bytes(spec.n, DType::kF32)));
  AMPC_ASSIGN_OR_RETURN(buffers.out, made.Add(bytes(stacks * spec.m * spec.n, spec.out_storage)));
  buffers.bias = static_cast<const float*>(bias);
  return FastestOf(std::move(names), buffers, &made, [&](const std::string& name) {
    spec.implementation = name;
    return OneDnnMatmul::Make(spec, b, nullptr);
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Matmul>> MakeMatmul(const MatmulSpec& given, const HostTensor* b, WeightCache* cache) {
  MatmulSpec spec = given;
  if (spec.choices != nullptr) {
    AMPC_ASSIGN_OR_RETURN(spec.implementation, spec.choices->Get(ShapeText(spec, b != nullptr), [&] { return Measure(spec, b); }));
    spec.choices = nullptr;
  }
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Matmul> product, OneDnnMatmul::Make(spec, b, cache));
  return MayLoseNan(spec.activation) ? KeepNan(std::move(product), spec, b, cache) : std::move(product);
}

}  // namespace ampc::onednn
