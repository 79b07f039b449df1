// Files of settings.
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/error.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/base/save_journal.h"
#include "passes/amp/decide/op_times.h"
#include "passes/amp/decide/plan.h"
#include "tests/fuzz/target.h"
#include "tools/cli/convert_config.h"
#include "tools/cli/options.h"

namespace ampc::fuzz {

absl::Status Json(absl::string_view bytes) { return CheckPolite(ParseJson(bytes).status()); }

absl::Status Journal(absl::string_view bytes) {
  const std::optional<SaveJournal> journal = ParseJournal(bytes);
  if (!journal.has_value() || JournalText(*journal) == bytes) return absl::OkStatus();
  return ampc::InternalError("a journal is read and written differently");
}

absl::Status DecisionPlan(absl::string_view bytes) {
  const absl::StatusOr<Plan> plan = ParsePlan(bytes);
  if (!plan.ok()) return CheckPolite(plan.status());
  const absl::StatusOr<Plan> again = ParsePlan(PlanJson(*plan, [](JsonWriter& json) { json.BeginObject().EndObject(); }));
  if (again.ok() && !again->edited && again->digest == plan->digest && again->entries.size() == plan->entries.size())
    return absl::OkStatus();
  return ampc::InternalError("a plan is read and written differently");
}

absl::Status Times(absl::string_view bytes) {
  const absl::StatusOr<OpTimes> times = ParseOpTimes(bytes);
  if (!times.ok()) return CheckPolite(times.status());
  const absl::StatusOr<OpTimes> again = ParseOpTimes(OpTimesJson(*times));
  return again.ok() && *again == *times ? absl::OkStatus() : ampc::InternalError("times of ops are read and written differently");
}

absl::Status Config(absl::string_view bytes) {
  struct Declared {
    Options options = Options("convert");
    std::string text[6];
    std::vector<std::string> lists[10];
    bool flags[3] = {};
    int probe = 0;
  };
  static auto* const kDeclared = [] {
    auto* d = new Declared;
    int i = 0;
    for (const char* name : {"--dtype", "--level", "--compat", "--on-overflow", "--on-tiny", "--runtime"})
      d->options.Add(name, d->text[i++]);
    i = 0;
    for (const char* name : {"--white-list", "--black-list", "--black-vars", "--include", "--exclude", "--keep-io", "--low-io", "--target",
                             "--input-range", "--dims"}) {
      d->options.Add(name, d->lists[i++]).SplitAtCommas();
    }
    i = 0;
    for (const char* name : {"--guard", "--promote", "--program-only"}) d->options.Flag(name, d->flags[i++], "");
    d->options.Add("--probe", d->probe);
    return d;
  }();
  static auto* const kFile = new MemoryFile;
  kFile->Set(bytes);
  kDeclared->options.Forget();
  return CheckPolite(ApplyConvertConfig(kFile->path(), kDeclared->options));
}

}  // namespace ampc::fuzz
