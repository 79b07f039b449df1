#include "kernels/lib/cpu_numbers.h"

#include <dnnl.h>

#include "absl/strings/str_cat.h"

namespace ampc::onednn {

const DeviceNumbers& CpuNumbers() {
  const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
  const char* name = "avx2";
  if (isa >= dnnl_cpu_isa_avx512_core) name = "avx512";
  if (isa >= dnnl_cpu_isa_avx512_core_bf16) name = "avx512_bf16";
  if (isa >= dnnl_cpu_isa_avx512_core_amx) name = "amx";
  return *FindDeviceNumbers(name);
}

std::string CpuText() {
  const dnnl_version_t* const version = dnnl_version();
  return absl::StrCat(CpuNumbers().name, ", oneDNN ", version->major, ".", version->minor, ".", version->patch);
}

}  // namespace ampc::onednn
