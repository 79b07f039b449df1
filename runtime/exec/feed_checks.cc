#include "runtime/exec/feed_checks.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

absl::Status CheckFeed(const Var& feed, const HostTensor& value) {
  const auto wrong = [&](absl::string_view what) {
    return UsageError(absl::StrCat("feed '", feed.name(), "' ", what, ", the model needs ", ToString(feed.type)));
  };
  if (value.dtype() != feed.type.dtype) return wrong(absl::StrCat("is ", Name(value.dtype())));
  const TensorType type(value.dtype(), Dims(value.dims().begin(), value.dims().end()));
  if (!Compatible(type, feed.type)) return wrong(absl::StrCat("has dims ", ShapeToString(value.dims())));
  return absl::OkStatus();
}

// Tensors go in and come out.
absl::Status CheckKinds(const Program& program) {
  for (const Var* fetch : program.fetches) {
    if (fetch->type.kind != TypeKind::kTensorArray) continue;
    return UnsupportedError(
        absl::StrCat("fetch '", fetch->exported(), "' is ", ToString(fetch->type), ", models are executed with tensors as fetches"));
  }
  for (const Var* feed : program.feeds) {
    if (feed->type.kind == TypeKind::kTensor) continue;
    return UnsupportedError(
        absl::StrCat("feed '", feed->exported(), "' is ", ToString(feed->type), ", models are executed with tensors as feeds"));
  }
  return absl::OkStatus();
}

// For a sentence: "a, b, c", and how many more there are.
std::string Names(const std::vector<Var*>& vars) {
  constexpr size_t kMost = 20;
  std::string names;
  for (size_t i = 0; i < std::min(vars.size(), kMost); ++i) absl::StrAppend(&names, i == 0 ? "" : ", ", vars[i]->exported());
  return vars.size() <= kMost ? names : absl::StrCat(names, " and ", vars.size() - kMost, " more");
}

}  // namespace

absl::StatusOr<std::vector<const HostTensor*>> OrderFeeds(const Program& program, const TensorMap& feeds) {
  std::vector<const HostTensor*> values;
  AMPC_RETURN_IF_ERROR(CheckKinds(program));
  for (const Var* feed : program.feeds) {
    auto it = feeds.find(feed->exported());
    if (it == feeds.end()) {
      return UsageError(absl::StrCat("feed '", feed->exported(), "' is missing, the model needs ", Names(program.feeds)));
    }
    AMPC_RETURN_IF_ERROR(CheckFeed(*feed, it->second));
    values.push_back(&it->second);
  }
  if (feeds.size() == values.size()) return values;
  std::set<absl::string_view> known;
  for (const Var* feed : program.feeds) known.insert(feed->exported());
  const auto it = std::find_if(feeds.begin(), feeds.end(), [&known](const auto& feed) { return !known.contains(feed.first); });
  return UsageError(absl::StrCat("the model has no feed '", it->first, "'; it has ", Names(program.feeds)));
}

absl::Status CheckFeeds(const Program& program, absl::Span<const HostTensor* const> feeds) {
  AMPC_RETURN_IF_ERROR(CheckKinds(program));
  if (feeds.size() != program.feeds.size()) {
    return UsageError(
        absl::StrCat("found ", feeds.size(), feeds.size() == 1 ? " feed" : " feeds", ", the model needs ", Names(program.feeds)));
  }
  for (size_t i = 0; i < feeds.size(); ++i) AMPC_RETURN_IF_ERROR(CheckFeed(*program.feeds[i], *feeds[i]));
  return absl::OkStatus();
}

absl::Status CheckFetch(const Var& fetch, DType dtype, absl::Span<const int64_t> dims, const HostTensor& given) {
  if (given.dtype() == dtype && given.dims() == dims) return absl::OkStatus();
  return UsageError(absl::StrCat("output '", fetch.exported(), "': found memory for ", Name(given.dtype()), " ",
                                 ShapeToString(given.dims()), ", the result is ", Name(dtype), " ", ShapeToString(dims)));
}

}  // namespace ampc
