#include "tests/testlib/kernels_ran.h"

#include <cstdlib>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"

namespace ampc::testing {
namespace {

void Note(absl::string_view what, absl::string_view op, DType type) {
  static auto* const noted = new std::set<std::string>;
  const char* file = std::getenv("AMPC_KERNELS_RAN");
  if (file == nullptr) return;
  const std::string line = absl::StrCat(what, " ", op, " ", Name(type), "\n");
  if (noted->insert(line).second) std::ofstream(file, std::ios::app) << line;
}

}  // namespace

std::vector<std::pair<std::string, DType>> KernelsToRun(const KernelRegistry& kernels) {
  std::vector<std::pair<std::string, DType>> pairs;
  for (const KernelEntry* entry : kernels.All()) {
    for (const DType type : entry->dtypes) {
      if (IsFloat(type) && type != DType::kF64) pairs.emplace_back(entry->op, type);
    }
  }
  return pairs;
}

DType EntryTypeOf(const KernelSpec& spec) {
  for (const TensorDesc& d : spec.inputs) {
    if (IsFloat(d.dtype)) return d.dtype;
  }
  for (const TensorDesc& d : spec.outputs) {
    if (IsFloat(d.dtype)) return d.dtype;
  }
  return !spec.inputs.empty() ? spec.inputs[0].dtype : spec.outputs[0].dtype;
}

bool NotesKernelsRan() { return std::getenv("AMPC_KERNELS_RAN") != nullptr; }

void NoteKernelsUnderTest(const KernelRegistry& kernels) {
  for (const auto& [op, type] : KernelsToRun(kernels)) Note("has", op, type);
}

void NoteKernelRan(const std::string& op, const KernelSpec& spec) { Note("ran", op, EntryTypeOf(spec)); }

}  // namespace ampc::testing
