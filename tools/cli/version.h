// The version of ampc, as tools/bazel/version.bzl has it.
#pragma once

namespace ampc {

const char* Version();  // "1.2.3"

}  // namespace ampc
