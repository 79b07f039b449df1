#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/host_values.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "runtime/exec/host_ops.h"

namespace ampc {
namespace {

// The position that I names among `places` in an array of `length` elements; without I the last one.
absl::StatusOr<int64_t> Position(const HostCall& call, int64_t length, int64_t places) {
  int64_t i = places - 1;
  if (call.op.input("I") != nullptr) {
    AMPC_ASSIGN_OR_RETURN(i, ReadInt(call, "I"));
  }
  if (i < 0 && i >= -length) i += length;
  if (i >= 0 && i < places) return i;
  return UsageError(absl::StrCat(Describe(call.op), ": position ", i, " is outside the sequence '", call.op.input("X")->name(),
                                 "', whose length is ", length));
}

// How long the parts of `dim` are.
absl::StatusOr<std::vector<int64_t>> Lengths(const HostCall& call, int64_t dim) {
  int64_t each = 1;
  if (call.op.input("Split") != nullptr) {
    AMPC_ASSIGN_OR_RETURN(const SharedTensor split, call.env.Read(call.op, *call.op.input("Split")));
    const std::optional<std::vector<int64_t>> numbers = IntegersOf(*split);
    if (!numbers.has_value()) return UsageError(absl::StrCat(Describe(call.op), ": Split is ", Name(split->dtype()), ", needs integers"));
    if (split->rank() > 0) {
      int64_t left = dim;
      for (const int64_t n : *numbers) {
        if (n < 0 || n > left)
          return UsageError(absl::StrCat(Describe(call.op), ": part of length ", n, " where ", left, " of ", dim, " are left"));
        left -= n;
      }
      if (left == 0) return *numbers;
      return UsageError(absl::StrCat(Describe(call.op), ": the lengths in Split leave ", left, " of ", dim));
    }
    each = (*numbers)[0];
    if (each < 1) return UsageError(absl::StrCat(Describe(call.op), ": Split is ", each, ", needs a positive length"));
  }
  const int64_t parts = dim / each + (dim % each == 0 ? 0 : 1);
  if (parts > kMaxArrayLength) return UsageError(absl::StrCat(Describe(call.op), ": ", parts, " parts, there can be ", kMaxArrayLength));
  std::vector<int64_t> lengths(static_cast<size_t>(parts), each);
  if (dim % each != 0) lengths.back() = dim % each;
  return lengths;
}

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

// The tensor from `begin` on, `length` long along `axis`.
absl::StatusOr<HostTensor> Part(const HostTensor& x, int64_t axis, int64_t begin, int64_t length) {
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  const int64_t dim = std::exchange(dims[axis], length);
  AMPC_ASSIGN_OR_RETURN(HostTensor part, HostTensor::CreateUninitialized(x.dtype(), dims));
  const int64_t outer = Product(x.dims().first(axis));
  if (part.num_elements() == 0) return part;
  const size_t row = x.size_bytes() / (outer * dim), bytes = row * length;
  const char* from = static_cast<const char*>(x.data()) + begin * row;
  char* to = static_cast<char*>(part.mutable_data());
  for (int64_t o = 0; o < outer; ++o) std::memcpy(to + o * bytes, from + o * row * dim, bytes);
  return part;
}

}  // namespace

absl::Status SequenceConstruct(const HostCall& call) {
  TensorArray array;
  for (const Var* var : call.op.inputs()) {
    AMPC_ASSIGN_OR_RETURN(SharedTensor x, call.env.Read(call.op, *var));
    array.push_back(std::move(x));
  }
  call.env.Array(*call.op.output("Out")) = std::move(array);
  return absl::OkStatus();
}

absl::Status SequenceInsert(const HostCall& call) {
  TensorArray array = call.env.Array(*call.op.input("X"));
  const int64_t length = static_cast<int64_t>(array.size());
  AMPC_ASSIGN_OR_RETURN(const int64_t at, Position(call, length, length + 1));
  if (length >= kMaxArrayLength)
    return UsageError(absl::StrCat(Describe(call.op), ": the sequence has ", length, " elements, which is the most there can be"));
  AMPC_ASSIGN_OR_RETURN(SharedTensor t, call.env.Read(call.op, *call.op.input("T")));
  array.insert(array.begin() + at, std::move(t));
  call.env.Array(*call.op.output("Out")) = std::move(array);
  return absl::OkStatus();
}

absl::Status SequenceErase(const HostCall& call) {
  TensorArray array = call.env.Array(*call.op.input("X"));
  const int64_t length = static_cast<int64_t>(array.size());
  AMPC_ASSIGN_OR_RETURN(const int64_t at, Position(call, length, length));
  array.erase(array.begin() + at);
  call.env.Array(*call.op.output("Out")) = std::move(array);
  return absl::OkStatus();
}

absl::Status SequenceAt(const HostCall& call) {
  const TensorArray& array = call.env.Array(*call.op.input("X"));
  const int64_t length = static_cast<int64_t>(array.size());
  AMPC_ASSIGN_OR_RETURN(const int64_t at, Position(call, length, length));
  if (array[at] == nullptr)
    return UsageError(absl::StrCat(Describe(call.op), ": element ", at, " of '", call.op.input("X")->name(), "' has no value"));
  call.env.Set(*call.op.output("Out"), array[at]);
  return absl::OkStatus();
}

absl::Status SplitToSequence(const HostCall& call) {
  AMPC_ASSIGN_OR_RETURN(const SharedTensor x, call.env.Read(call.op, *call.op.input("X")));
  int64_t axis = call.op.GetInt("axis");
  if (axis < 0) axis += x->rank();
  if (axis < 0 || axis >= x->rank())
    return UsageError(absl::StrCat(Describe(call.op), ": axis ", call.op.GetInt("axis"), " is outside a tensor of rank ", x->rank()));
  AMPC_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, Lengths(call, x->dims()[axis]));
  const bool squeeze = call.op.input("Split") == nullptr && !call.op.GetBool("keepdims");
  TensorArray array;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    AMPC_ASSIGN_OR_RETURN(HostTensor part, Part(*x, axis, begin, length));
    begin += length;
    if (squeeze) {
      std::vector<int64_t> dims(part.dims().begin(), part.dims().end());
      dims.erase(dims.begin() + axis);
      AMPC_RETURN_IF_ERROR(part.Reshape(dims));
    }
    array.push_back(std::make_shared<const HostTensor>(std::move(part)));
  }
  call.env.Array(*call.op.output("Out")) = std::move(array);
  return absl::OkStatus();
}

}  // namespace ampc
