// How calls of the C interface end.
#pragma once

#include <cstddef>
#include <exception>
#include <new>

#include "absl/status/status.h"
#include "tools/c_api/ampc.h"
#include "tools/cli/uncaught.h"

namespace ampc::c_api {

// The code of `status`. An error's sentence, with `where` (the name of the C function) in front, becomes this thread's ampc_error_text().
ampc_code Finish(const char* where, const absl::Status& status) noexcept;

// Finish of what `body` returns; an exception in it is an error like others.
template <typename Body>
ampc_code Call(const char* where, const Body& body) noexcept {
  try {
    return Finish(where, body());
  } catch (const std::bad_alloc&) {
    return Finish(where, absl::InternalError(kOutOfMemory));
  } catch (const std::exception& error) {
    return Finish(where, absl::InternalError(error.what()));
  } catch (...) {
    return Finish(where, absl::InternalError("an unknown exception"));
  }
}

// A usage error where the argument `name` is NULL.
absl::Status Need(const void* pointer, const char* name);
// Of an array with `size` elements, which may be NULL only without any.
absl::Status NeedArray(const void* pointer, size_t size, const char* name);
// Both members of every option are there.
absl::Status CheckOptions(const ampc_option* options, size_t num_options);

}  // namespace ampc::c_api
