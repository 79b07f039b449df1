#include "kernels/cpu/base/spec_view.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/error.h"
#include "graph/base/host_values.h"
#include "kernels/common/integer.h"

namespace ampc {
namespace {

// A float out of the range of R is its nearest end.
template <typename R, typename F>
R FromFloat(F value) {
  if constexpr (std::is_integral_v<R>) return integer::FromFloat<R>(value);
  return static_cast<R>(value);
}

template <typename R>
R Read(const void* data, DType storage, int64_t i) {
  return Select<NumbersAndBool>(storage, [=](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = static_cast<const T*>(data)[i];
    if constexpr (std::is_floating_point_v<T>) {
      return FromFloat<R>(value);
    } else {
      return static_cast<R>(value);
    }
  });
}

// Position of `span` inside `all`, which contains it.
int Flat(absl::Span<Var* const> all, absl::Span<Var* const> span, int i) {
  return i < static_cast<int>(span.size()) ? static_cast<int>(span.data() - all.data()) + i : -1;
}

}  // namespace

int SpecView::In(absl::string_view slot, int i) const {
  const int s = op().def().InputSlot(slot);
  return s < 0 ? -1 : Flat(op().inputs(), op().inputs(s), i);
}

int SpecView::Out(absl::string_view slot, int i) const {
  const int s = op().def().OutputSlot(slot);
  return s < 0 ? -1 : Flat(op().outputs(), op().outputs(s), i);
}

int SpecView::NumIn(absl::string_view slot) const {
  const int s = op().def().InputSlot(slot);
  return s < 0 ? 0 : static_cast<int>(op().inputs(s).size());
}

int SpecView::NumOut(absl::string_view slot) const {
  const int s = op().def().OutputSlot(slot);
  return s < 0 ? 0 : static_cast<int>(op().outputs(s).size());
}

std::optional<std::vector<int64_t>> SpecView::Ints(absl::string_view slot, int i) const {
  const int flat = In(slot, i);
  if (flat < 0 || spec_.values[flat] == nullptr) return std::nullopt;
  return IntegersOf(*spec_.values[flat]);  // as inference reads them
}

std::optional<double> SpecView::Number(absl::string_view slot) const {
  const int flat = In(slot);
  if (flat < 0 || spec_.values[flat] == nullptr || spec_.values[flat]->num_elements() < 1) return std::nullopt;
  return ReadAsDouble(spec_.values[flat]->data(), spec_.values[flat]->dtype());
}

absl::Status SpecView::CheckType(DType dtype, absl::Span<const DType> supported) const {
  if (std::find(supported.begin(), supported.end(), StorageType(dtype)) != supported.end()) return absl::OkStatus();
  const auto name = [](std::string* out, DType t) { absl::StrAppend(out, t == DType::kF32 ? "f32, f16, bf16" : std::string(Name(t))); };
  return Unsupported(absl::StrCat("the cpu kernel has no ", std::string(Name(dtype)), ", only ", absl::StrJoin(supported, ", ", name)));
}

absl::Status SpecView::Unsupported(absl::string_view what) const { return UnsupportedError(absl::StrCat(Describe(op()), ": ", what)); }

absl::Status SpecView::Internal(absl::string_view what) const { return InternalError(absl::StrCat(Describe(op()), ": ", what)); }

double ReadAsDouble(const void* data, DType storage, int64_t i) { return Read<double>(data, storage, i); }

int64_t ReadAsInt(const void* data, DType storage, int64_t i) { return Read<int64_t>(data, storage, i); }

ScalarInput::ScalarInput(const SpecView& spec, absl::string_view slot, double fallback) : fixed_(fallback) {
  const int flat = spec.In(slot);
  if (flat < 0) return;
  if (const std::optional<double> value = spec.Number(slot)) {
    fixed_ = *value;
    return;
  }
  flat_ = flat;
  storage_ = StorageType(spec.spec().inputs[flat].dtype);
}

}  // namespace ampc
