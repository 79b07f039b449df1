// Runtimes that execute a converted model: which ops they compute in which low type, as data, and what is known to fail.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/op_def.h"

namespace ampc {

// Of one low type.
struct RuntimeKernels {
  // Types of ONNX's operators that have a kernel, separated by blanks; "Pad:21" has one from that version on; "*": all.
  absl::string_view types = "*";
  // An op without a kernel is computed in fp32 nevertheless: the runtime puts casts around it.
  bool casts_itself = false;
  // Operators of these types are to stay fp32, and why.
  absl::string_view faulty = "", fault = "";
};

struct Runtime {
  absl::string_view name;    // of --runtime
  absl::string_view words;   // "ONNX Runtime's CPU provider"
  absl::string_view target;  // of --target; "" for any
  absl::string_view format;  // of models that it reads: "onnx", "paddle"; "" for any
  absl::string_view source;  // where the rows come from
  bool verified = false;     // converted models were run there
  RuntimeKernels f16 = {}, bf16 = {};
};

absl::Span<const Runtime> AllRuntimes();
std::vector<std::string> RuntimeNames();
const Runtime* FindRuntime(absl::string_view name);  // null for none

// "" where `runtime` takes the op in that type, else why not.
std::string WhyNotLow(const Runtime& runtime, const OpDef& def, DType low);
// The runtime takes it, and computes it in fp32.
bool CastsItself(const Runtime& runtime, const OpDef& def, DType low);

}  // namespace ampc
