// Models whose attributes and operands have extreme values (tests/extreme): the bytes are the decisions of their generator.
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "tests/extreme/attempt.h"
#include "tests/extreme/odd_model.h"
#include "tests/fuzz/target.h"

namespace ampc::fuzz {
namespace {

// An op that ended with this sentence, or with such results.
void Print(const extreme::OddModel& model, const extreme::Attempt& attempt) {
  std::string outcome = absl::StrCat(model.def->name, " ", attempt.stage, " ", attempt.status.message());
  for (const auto& [name, tensor] : attempt.fetches) {
    absl::StrAppend(&outcome, " ", Name(tensor.dtype()), std::string(tensor.dims().size(), '-'), tensor.num_elements() == 0 ? " none" : "");
  }
  RecordOutcome(outcome);
}

std::string MakeFolder() {
#if !defined(ABSL_HAVE_ADDRESS_SANITIZER)
  // A model that asks for more memory is refused, as on a small machine; run.sh tells the sanitizer the same.
  constexpr rlim_t kMost = rlim_t{2} << 30;
  const rlimit memory{kMost, kMost};
  setrlimit(RLIMIT_AS, &memory);
#endif
  std::string folder = (std::filesystem::temp_directory_path() / "ampc-fuzz-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) std::abort();
  return folder;
}

}  // namespace

absl::Status ExtremeModel(absl::string_view bytes) {
  static const std::string& folder = *new std::string(MakeFolder());
  static const auto& ops = *new std::vector<const OpDef*>(extreme::TriedOps());
  extreme::Choices choices(bytes);
  const OpDef& def = *ops[choices.Below(ops.size())];
  const int changes = 1 + static_cast<int>(choices.Below(3));
  const extreme::OddModel model = extreme::MakeModel(def, changes, choices);
  const extreme::Attempt attempt = extreme::Try(model, folder);
  Print(model, attempt);
  return extreme::CheckPolite(attempt);
}

}  // namespace ampc::fuzz
