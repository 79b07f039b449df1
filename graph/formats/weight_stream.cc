#include "graph/formats/weight_stream.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/packed.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

// Small enough for the window and its converted copy to stay in the cache, large enough to make system calls cheap.
constexpr int64_t kWindowBytes = int64_t{1} << 20;

absl::Status AppendTransformed(const WeightRef& ref, SaveProgress* progress, WeightDamage* damage, const ByteSink& sink) {
  const auto size = static_cast<int64_t>(SizeOf(ref.dtype));
  const int64_t elements = static_cast<int64_t>(ref.bytes) / size;
  const int64_t window = kWindowBytes / size;
  std::string buffer;
  for (int64_t first = 0; first < elements; first += window) {
    const int64_t count = std::min(window, elements - first);
    buffer.clear();
    AMPC_RETURN_IF_ERROR(TransformWindow(ref, first, count, &buffer, damage));
    AMPC_RETURN_IF_ERROR(sink(buffer));
    ref.source->Release(ref.offset + first * size, count * size);
    AMPC_RETURN_IF_ERROR(progress->Add(buffer.size()));
  }
  return absl::OkStatus();
}

absl::Status AppendRaw(const WeightRef& ref, SaveProgress* progress, const ByteSink& sink) {
  const absl::Span<const char> all = ref.source->bytes();
  for (uint64_t done = 0; done < ref.bytes; done += kWindowBytes) {
    const uint64_t count = std::min<uint64_t>(kWindowBytes, ref.bytes - done);
    AMPC_RETURN_IF_ERROR(sink(absl::string_view(all.data() + ref.offset + done, count)));
    ref.source->Release(ref.offset + done, count);
    AMPC_RETURN_IF_ERROR(progress->Add(count));
  }
  return absl::OkStatus();
}

absl::Status Mismatch(const Var& var, uint64_t bytes) {
  return BadInputError(absl::StrCat(Name(var.kind), " '", var.name(), "' is ", ToString(var.type), ", its value has ", bytes, " bytes"));
}

}  // namespace

absl::StatusOr<uint64_t> StoredBytes(const Var& var) {
  const int64_t elements = var.type.NumElements();
  if (elements < 0)
    return BadInputError(absl::StrCat(Name(var.kind), " '", var.name(), "' is ", ToString(var.type), ", a value needs a known shape"));
  if (var.weight == nullptr && var.literal == nullptr) {
    return BadInputError(absl::StrCat(Name(var.kind), " '", var.name(),
                                      "' has no value to write; load the model with its parameters, or write the program only"));
  }
  if (var.weight == nullptr) {
    if (var.literal->num_elements() != elements || var.literal->dtype() != var.type.dtype) return Mismatch(var, var.literal->size_bytes());
    return static_cast<uint64_t>(PackedBytes(BitsOf(var.type.dtype), elements));
  }
  const WeightRef& ref = *var.weight;
  const uint64_t available = ref.source == nullptr ? 0 : ref.source->bytes().size();
  if (SizeOf(ref.dtype) == 0 || ref.final_dtype() != var.type.dtype ||
      ref.bytes != static_cast<uint64_t>(PackedBytes(BitsOf(ref.dtype), elements))) {
    return Mismatch(var, ref.bytes);
  }
  if (ref.offset > available || ref.bytes > available - ref.offset) return Mismatch(var, available);
  return static_cast<uint64_t>(PackedBytes(BitsOf(var.type.dtype), elements));
}

absl::Status SaveProgress::Add(uint64_t bytes) {
  done_ += static_cast<double>(bytes);
  return !options_.progress || options_.progress(done_, total_) ? absl::OkStatus() : absl::CancelledError("cancelled by the caller");
}

absl::Status AppendWeight(const Var& var, const SaveOptions& options, SaveProgress* progress, const ByteSink& sink) {
  if (var.weight == nullptr) {
    const HostTensor& value = *var.literal;
    std::string packed;
    if (IsPacked(value.dtype())) AppendPacked(value.dtype(), value.data(), value.num_elements(), &packed);
    const absl::string_view bytes = packed.empty() ? absl::string_view(static_cast<const char*>(value.data()), value.size_bytes()) : packed;
    AMPC_RETURN_IF_ERROR(sink(bytes));
    return progress->Add(bytes.size());
  }
  if (var.weight->transforms.empty()) return AppendRaw(*var.weight, progress, sink);
  WeightDamage damage;
  const absl::Status status = AppendTransformed(*var.weight, progress, &damage, sink);
  if (absl::IsCancelled(status)) return status;
  if (!status.ok()) return Annotate(status, absl::StrCat(Name(var.kind), " '", var.name(), "'"));
  if (options.on_weight) options.on_weight(var, damage);
  return absl::OkStatus();
}

}  // namespace ampc
