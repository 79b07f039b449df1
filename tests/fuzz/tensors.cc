// Files of tensors.
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/npy.h"
#include "graph/formats/tensor_io/npz.h"
#include "graph/formats/tensor_io/safetensors.h"
#include "tests/fuzz/target.h"
#include "tools/train/idx_file.h"

namespace ampc::fuzz {

absl::Status Npy(absl::string_view bytes) { return CheckPolite(ParseNpy(bytes, "x.npy").status()); }

absl::Status Npz(absl::string_view bytes) { return CheckPolite(ParseNpz(bytes, "x.npz").status()); }

// The header; every tensor that it names lies in the file.
absl::Status Safetensors(absl::string_view bytes) {
  const absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(bytes, "x.safetensors");
  if (!header.ok()) return CheckPolite(header.status());
  for (const SafetensorsEntry& e : header->entries) {
    if (e.offset > bytes.size() || e.bytes > bytes.size() - e.offset)
      return ampc::InternalError(absl::StrCat("tensor '", e.name, "' leaves the file"));
  }
  return absl::OkStatus();
}

// As images and as labels.
absl::Status Idx(absl::string_view bytes) {
  for (const int rank : {3, 1}) {
    const absl::StatusOr<IdxArray> array = ParseIdx(bytes, "x", rank);
    if (!array.ok()) {
      AMPC_RETURN_IF_ERROR(CheckPolite(array.status()));
    } else if (NumElements(array->dims) != static_cast<int64_t>(array->bytes.size())) {
      return ampc::InternalError("the dims say another number of bytes than there are");
    }
  }
  return absl::OkStatus();
}

}  // namespace ampc::fuzz
