#include "runtime/compare/compare_models.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/ops/onnx/dialect.h"
#include "kernels/storage.h"
#include "runtime/compare/decisions.h"

namespace ampc {
namespace {

DType Narrower(DType a, DType b) { return IsLowPrecision(b) || !IsLowPrecision(a) ? b : a; }

// bf16 rounds more than f16.
DType Lowest(DType a, DType b) {
  for (const DType t : {DType::kBF16, DType::kF16}) {
    if (a == t || b == t) return t;
  }
  return DType::kF32;
}

// Memory for many values, in few pieces with large pages: touching small ones for the first time costs as much as computing what they hold.
class ValueMemory {
 public:
  // Aligned to 64 bytes, until this ends; null where there is none.
  void* Take(size_t bytes) {
    constexpr size_t kPage = size_t{1} << 21, kPiece = kPage * 16;
    bytes = (bytes + 63) / 64 * 64;
    if (bytes > left_) {
      const size_t size = (std::max(bytes, kPiece) + kPage - 1) / kPage * kPage;
      pieces_.emplace_back(std::aligned_alloc(kPage, size), &std::free);
      next_ = static_cast<std::byte*>(pieces_.back().get());
      left_ = next_ == nullptr ? 0 : size;
      if (next_ == nullptr) return nullptr;
      madvise(next_, size, MADV_HUGEPAGE);  // refused on some systems, at no harm
    }
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }

 private:
  std::vector<std::unique_ptr<void, decltype(&std::free)>> pieces_;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
};

absl::StatusOr<HostTensor> CopyInto(ValueMemory& memory, const ObservedValue& value) {
  const DType type = StorageType(value.desc.dtype);
  const size_t bytes = static_cast<size_t>(value.desc.NumElements()) * SizeOf(type);
  void* const place = memory.Take(bytes);
  if (bytes > 0 && place == nullptr) return InternalError(absl::StrCat("no memory for ", bytes, " bytes of '", value.var->exported(), "'"));
  if (bytes > 0) std::memcpy(place, value.data, bytes);
  return HostTensor::Borrow(type, value.desc.dims, place);
}

absl::StatusOr<HostTensor> Copy(const ObservedValue& value) {
  AMPC_ASSIGN_OR_RETURN(HostTensor copy, HostTensor::CreateUninitialized(StorageType(value.desc.dtype), value.desc.dims));
  if (copy.size_bytes() > 0) std::memcpy(copy.mutable_data(), value.data, copy.size_bytes());
  return copy;
}

struct Stored {
  DType dtype;
  HostTensor value;  // in storage type
};

// Keeps every result of the first model by its exported name; a step of a loop has one per iteration.
class Recorder : public StepObserver {
 public:
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) {
      AMPC_ASSIGN_OR_RETURN(HostTensor copy, CopyInto(memory_, v));
      values_[v.var->exported()].push_back({v.desc.dtype, std::move(copy)});
    }
    return absl::OkStatus();
  }
  const Stored* Find(const std::string& name, size_t time) const {
    const auto it = values_.find(name);
    return it == values_.end() || time >= it->second.size() ? nullptr : &it->second[time];
  }

 private:
  ValueMemory memory_;
  std::map<std::string, std::vector<Stored>> values_;  // in that memory
};

// Compares every result of the second model with the recorded one of the same name; but an output is only noted in its order.
class Comparer : public StepObserver {
 public:
  Comparer(const Recorder& recorder, const ComparedModel& a, const ComparedModel& b, int threads)
      : recorder_(recorder), a_(a), b_(b), threads_(threads) {
    for (const ValueInfo& output : b.session().outputs()) outputs_.insert(output.name);
  }
  bool wants_values() const override { return true; }
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) {
      const std::string& name = v.var->exported();
      const size_t time = times_[name]++;
      const Stored* stored = recorder_.Find(name, time);
      if (stored == nullptr || v.desc.NumElements() == 0) continue;
      const std::string op = a_.OpOf(name).empty() ? b_.OpOf(name) : a_.OpOf(name);
      ComparedValue value{time == 0 ? name : absl::StrCat(name, " #", time + 1),
                          op.empty() ? step.op->type() : op,
                          stored->dtype,
                          v.desc.dtype,
                          false,
                          time == 0 && outputs_.contains(name),
                          {},
                          {}};
      const std::vector<int64_t> dims(v.desc.dims.begin(), v.desc.dims.end());
      value.same_dims = stored->value.dims() == absl::MakeConstSpan(dims);
      if (value.same_dims && !value.fetch) {
        AMPC_ASSIGN_OR_RETURN(value.difference, DifferenceFrom(*stored, v));
      }
      values.push_back(std::move(value));
    }
    return absl::OkStatus();
  }
  std::vector<ComparedValue> values;

 private:
  absl::StatusOr<Difference> DifferenceFrom(const Stored& stored, const ObservedValue& v) const {
    const DType narrow = Narrower(stored.dtype, v.desc.dtype);
    if (stored.value.dtype() == DType::kF32 && StorageType(v.desc.dtype) == DType::kF32) {
      return Compare(stored.value.values<float>(),
                     absl::MakeConstSpan(static_cast<const float*>(v.data), static_cast<size_t>(v.desc.NumElements())), narrow, threads_);
    }
    AMPC_ASSIGN_OR_RETURN(const HostTensor copy, Copy(v));
    return Compare(ToDoubles(stored.value), ToDoubles(copy), narrow);
  }

  const Recorder& recorder_;
  const ComparedModel &a_, &b_;
  const int threads_;
  std::set<std::string> outputs_;
  std::map<std::string, size_t> times_;  // how often a value was seen
};

std::optional<Loss> FindLoss(const std::vector<ComparedValue>& values) {
  std::optional<Loss> found;
  double before = 0;
  for (const ComparedValue& v : values) {
    if (!v.same_dims || !IsFloat(v.dtype_b)) continue;
    const double after = v.difference.mismatched_non_finite > 0 ? std::numeric_limits<double>::infinity() : v.difference.max_rel;
    if (after > before && (!found.has_value() || after - before > found->after - found->before)) found = Loss{v.name, v.op, before, after};
    before = std::max(before, after);
  }
  return found;
}

bool Diverges(const ComparedValue& v, const std::optional<double>& of_largest) {
  if (v.fetch) return !v.verdict.passed;
  return !v.same_dims || v.difference.mismatched_non_finite > 0 || (of_largest.has_value() && !(v.difference.max_rel <= *of_largest));
}

void FindDivergences(const std::optional<double>& of_largest, ModelComparison* comparison) {
  for (size_t i = 0; i < comparison->values.size(); ++i) {
    ComparedValue& v = comparison->values[i];
    v.diverges = Diverges(v, of_largest);
    if (v.diverges && !comparison->first_divergence.has_value()) comparison->first_divergence = i;
  }
}

void Conclude(bool by_table, ModelComparison* comparison) {
  int64_t outputs = 0, failed = 0;
  for (const ComparedValue& v : comparison->values) {
    if (!v.fetch) continue;
    ++outputs;
    if (v.verdict.passed) continue;
    if (failed++ == 0) comparison->reason = absl::StrCat("output '", v.name, "': ", v.verdict.why);
  }
  comparison->passed = failed == 0;
  if (failed > 1) absl::StrAppend(&comparison->reason, " (and ", failed - 1, " more of ", outputs, " outputs)");
  if (failed > 0) return;
  comparison->reason = absl::StrCat(outputs == 1 ? "the output is" : absl::StrCat("the ", outputs, " outputs are"), " within ",
                                    by_table ? absl::StrCat("what ", Name(comparison->lowest), " may change") : "the tolerance");
}

}  // namespace

absl::StatusOr<ComparedModel> ComparedModel::Load(const std::string& path, const SessionOptions& options) {
  AMPC_ASSIGN_OR_RETURN(Program program, LoadModel(path, {.params = options.params}));
  absl::StatusOr<ComparedModel> model = Create(path, std::move(program), options);
  if (ExitCodeOf(model.status()) == ExitCode::kBadInput) return Annotate(model.status(), path);
  return model;
}

absl::StatusOr<ComparedModel> ComparedModel::Create(std::string name, Program program, const SessionOptions& options) {
  std::map<std::string, std::string> ops;
  ForEachOp(program, [&](const Op& op) {
    for (const Var* v : op.outputs()) ops.emplace(v->exported(), std::string(onnx::TypeName(op.def())));
  });
  std::set<std::string> decisions = OutputsThatDecide(program);
  AMPC_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(program), options));
  ComparedModel model(std::move(name), std::move(session));
  model.ops_ = std::move(ops);
  model.decisions_ = std::move(decisions);
  model.threads_ = options.threads > 0 ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  ForEachOp(model.session_.program(), [&](const Op& op) {
    for (const Var* v : op.outputs()) model.lowest_ = Lowest(model.lowest_, v->type.dtype);
  });
  return model;
}

std::string ComparedModel::OpOf(const std::string& value) const {
  const auto at = ops_.find(value);
  return at == ops_.end() ? "" : at->second;
}

// CompareModels in parts.
struct Comparison {
  const ComparedModel &a, &b;
  const CompareOptions& options;

  absl::Status Stage(const std::string& stage) const {
    return !options.on_stage || options.on_stage(stage) ? absl::OkStatus() : absl::CancelledError("cancelled by the caller");
  }

  absl::StatusOr<ComparedValue> CompareOutput(const std::string& name, DType lowest, const TensorMap& of_a, const HostTensor& value) const {
    const auto at = of_a.find(name);
    if (at == of_a.end()) return UsageError(absl::StrCat(b.name(), " fetches '", name, "', ", a.name(), " does not"));
    ComparedValue v{name,
                    a.OpOf(name).empty() ? b.OpOf(name) : a.OpOf(name),
                    at->second.dtype(),
                    value.dtype(),
                    at->second.dims() == value.dims(),
                    true,
                    {},
                    {}};
    if (v.same_dims) {
      v.difference = Compare(at->second, value, Narrower(v.dtype_a, v.dtype_b));
      v.verdict = JudgeOutput(at->second, value, v.difference, {lowest, a.Decides(name), options.of_largest, options.rtol, options.atol});
    } else {
      v.verdict.why = "other dims";
    }
    return v;
  }

  absl::StatusOr<ModelComparison> Run(const TensorMap& feeds_a, const TensorMap& feeds_b) const {
    ModelComparison result;
    result.lowest = Lowest(a.lowest(), b.lowest());
    Recorder recorder;
    AMPC_RETURN_IF_ERROR(Stage(absl::StrCat("running ", a.name())));
    AMPC_ASSIGN_OR_RETURN(const TensorMap of_a, options.outputs_only ? a.session().Run(feeds_a) : a.session().Run(feeds_a, recorder));
    Comparer comparer(recorder, a, b, b.threads_);
    AMPC_RETURN_IF_ERROR(Stage(absl::StrCat("running ", b.name())));
    AMPC_ASSIGN_OR_RETURN(const TensorMap of_b, options.outputs_only ? b.session().Run(feeds_b) : b.session().Run(feeds_b, comparer));
    std::map<std::string, Difference> differences;
    std::vector<ComparedValue> outputs;
    for (const ValueInfo& output : b.session().outputs()) {
      AMPC_ASSIGN_OR_RETURN(outputs.emplace_back(), CompareOutput(output.name, result.lowest, of_a, of_b.at(output.name)));
      differences[output.name] = outputs.back().difference;
    }
    result.values = std::move(comparer.values);
    for (ComparedValue& v : result.values) {
      if (v.fetch) v.difference = differences[v.name];
    }
    result.lost_most = FindLoss(result.values);
    std::erase_if(result.values, [](const ComparedValue& v) { return v.fetch; });
    result.values.insert(result.values.end(), outputs.begin(), outputs.end());
    FindDivergences(options.of_largest, &result);
    Conclude(!options.of_largest.has_value() && !options.rtol.has_value() && !options.atol.has_value(), &result);
    return result;
  }
};

absl::StatusOr<ModelComparison> CompareModels(const ComparedModel& a, const TensorMap& feeds_a, const ComparedModel& b,
                                              const TensorMap& feeds_b, const CompareOptions& options) {
  return Comparison{a, b, options}.Run(feeds_a, feeds_b);
}

namespace {

double LargestOfOutputs(const ModelComparison& comparison) {
  double largest = 0;
  for (const ComparedValue& v : comparison.values) {
    if (v.fetch) largest = std::max(largest, v.difference.max_rel);
  }
  return largest;
}

bool Worse(const ModelComparison& a, const ModelComparison& than) {
  return a.passed == than.passed ? a.passed && LargestOfOutputs(a) > LargestOfOutputs(than) : !a.passed;
}

}  // namespace

absl::StatusOr<ModelComparison> CompareRuns(const ComparedModel& a, const std::vector<FeedsOfARun>& runs_a, const ComparedModel& b,
                                            const std::vector<FeedsOfARun>& runs_b, const CompareOptions& options) {
  const size_t count = runs_a.size();
  if (count == 0 || count != runs_b.size())
    return UsageError(
        absl::StrCat("the files have the feeds of ", count, " runs of ", a.name(), " and of ", runs_b.size(), " of ", b.name()));
  ModelComparison worst;
  std::vector<ComparedRun> runs;
  size_t failed = 0, at = 0;
  for (size_t i = 0; i < count; ++i) {
    absl::StatusOr<ModelComparison> found = CompareModels(a, runs_a[i].feeds, b, runs_b[i].feeds, options);
    if (!found.ok()) return count == 1 ? found.status() : Annotate(found.status(), runs_a[i].source);
    if (count == 1) return found;
    failed += found->passed ? 0 : 1;
    runs.push_back({runs_a[i].source, found->passed, found->reason});
    if (i > 0 && !Worse(*found, worst)) continue;
    worst = *std::move(found);
    at = i;
  }
  worst.reason = failed == 0 ? absl::StrCat(worst.reason, " in each of ", count, " runs")
                             : absl::StrCat(runs[at].source, ": ", worst.reason, "; ", failed, " of ", count, " runs fail");
  worst.runs = std::move(runs);
  worst.worst = at;
  return worst;
}

}  // namespace ampc
