#include "passes/amp/decide/io_choice.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

using Signature = std::map<std::string, const Var*>;

absl::Status CheckNames(absl::string_view option, const std::vector<std::string>& names, const Signature& signature) {
  std::vector<std::string> known;
  for (const auto& [name, var] : signature) known.push_back(name);
  for (const std::string& name : names) {
    if (signature.contains(name)) continue;
    std::string hint = Suggest(name, known);
    if (hint.empty()) hint = absl::StrCat("; these are ", absl::StrJoin(known, ", "));
    return UsageError(absl::StrCat(option, " names '", name, "', which is neither a feed nor a fetch of the program", hint));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<IoChoice> IoChoice::Make(const DecideOptions& options, const Program& program) {
  Signature signature;
  for (const std::vector<Var*>* side : {&program.feeds, &program.fetches}) {
    for (const Var* var : *side) signature.emplace(var->exported(), var);
  }
  AMPC_RETURN_IF_ERROR(CheckNames("keep-io", options.keep_io, signature));
  AMPC_RETURN_IF_ERROR(CheckNames("low-io", options.low_io_names, signature));
  IoChoice out;
  out.low_io_ = options.low_io;
  out.keep_.insert(options.keep_io.begin(), options.keep_io.end());
  out.low_.insert(options.low_io_names.begin(), options.low_io_names.end());
  for (const std::string& name : options.low_io_names) {
    if (out.keep_.contains(name)) return UsageError(absl::StrCat("keep-io and low-io both name '", name, "'"));
    const Var& var = *signature.at(name);
    if (var.type.dtype == DType::kF32 || IsLowPrecision(var.type.dtype)) continue;
    return UsageError(
        absl::StrCat("low-io names '", name, "', which is ", Name(var.type.dtype), ", only what is f32 can become ", Name(options.low)));
  }
  return out;
}

IoChoice::Request IoChoice::For(const Var& var) const {
  if (keep_.contains(var.exported())) return Request::kKeep;
  if (low_.contains(var.exported())) return Request::kLow;
  return low_io_ ? Request::kMayBeLow : Request::kKeep;
}

}  // namespace ampc
