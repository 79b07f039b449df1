#include "tools/c_api/errors.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc::c_api {
namespace {

thread_local std::string error_text;
thread_local bool no_memory_for_text = false;

ampc_code CodeOf(const absl::Status& status) {
  if (absl::IsCancelled(status)) return AMPC_CANCELLED;
  switch (ExitCodeOf(status)) {
    case ExitCode::kOk: return AMPC_OK;
    case ExitCode::kUsage: return AMPC_USAGE;
    case ExitCode::kBadInput: return AMPC_BAD_INPUT;
    case ExitCode::kUnsupported: return AMPC_UNSUPPORTED;
    case ExitCode::kNo: return AMPC_NO;
    case ExitCode::kInternal: break;
  }
  return AMPC_INTERNAL;
}

}  // namespace

ampc_code Finish(const char* where, const absl::Status& status) noexcept {
  if (status.ok()) return AMPC_OK;
  try {
    error_text = absl::StrCat(where, ": ", status.message());
    no_memory_for_text = false;
  } catch (...) {
    no_memory_for_text = true;
  }
  return CodeOf(status);
}

absl::Status Need(const void* pointer, const char* name) {
  return pointer == nullptr ? UsageError(absl::StrCat(name, " is NULL")) : absl::OkStatus();
}

absl::Status NeedArray(const void* pointer, size_t size, const char* name) {
  return pointer == nullptr && size > 0 ? UsageError(absl::StrCat(name, " is NULL, needs ", size, size == 1 ? " element" : " elements"))
                                        : absl::OkStatus();
}

absl::Status CheckOptions(const ampc_option* options, size_t num_options) {
  AMPC_RETURN_IF_ERROR(NeedArray(options, num_options, "options"));
  for (size_t i = 0; i < num_options; ++i) {
    if (options[i].key == nullptr) return UsageError(absl::StrCat("the key of option ", i, " is NULL"));
    if (options[i].value == nullptr) return UsageError(absl::StrCat("the value of option '", options[i].key, "' is NULL"));
  }
  return absl::OkStatus();
}

}  // namespace ampc::c_api

const char* ampc_error_text(void) { return ampc::c_api::no_memory_for_text ? "no memory" : ampc::c_api::error_text.c_str(); }
