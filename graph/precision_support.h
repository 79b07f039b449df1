// PrecisionSupport: may this op compute in this type on the target? Answered from data tables, never from what this build
// contains, so converting on a laptop gives the same model as on the machine with the accelerator.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"

namespace ampc {

class PrecisionSupport {
 public:
  virtual ~PrecisionSupport() = default;
  virtual absl::string_view target() const = 0;  // "cuda", "cpu"
  virtual bool Supports(absl::string_view op_type, DType compute) const = 0;
  // The reason why the target does not support it, if there is one beyond the lack of a kernel; else "".
  virtual std::string WhyNot(absl::string_view /*op_type*/, DType /*compute*/) const { return ""; }
};

}  // namespace ampc
