// Files of tensors.
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "graph/formats/tensor_io/npy.h"
#include "graph/formats/tensor_io/npz.h"
#include "graph/formats/tensor_io/safetensors.h"
#include "tests/fuzz/target.h"

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

}  // namespace ampc::fuzz
