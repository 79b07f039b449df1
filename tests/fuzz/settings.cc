// Files of settings.
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/json_reader.h"
#include "tests/fuzz/target.h"
#include "tools/cli/convert_config.h"

namespace ampc::fuzz {

absl::Status Json(absl::string_view bytes) { return CheckPolite(ParseJson(bytes).status()); }

absl::Status Journal(absl::string_view bytes) {
  const std::vector<JournalEntry> entries = ParseJournal(bytes);
  if (entries.empty() || JournalText(entries) == bytes) return absl::OkStatus();
  return ampc::InternalError("a journal is read and written differently");
}

absl::Status Config(absl::string_view bytes) {
  struct Options {
    CLI::App app;
    std::string text[5];
    std::vector<std::string> lists[8];
    bool flags[3] = {};
  };
  static auto* const kOptions = [] {
    auto* o = new Options;
    int i = 0;
    for (const char* name : {"--dtype", "--level", "--compat", "--on-overflow", "--on-tiny"}) o->app.add_option(name, o->text[i++]);
    i = 0;
    for (const char* name :
         {"--white-list", "--black-list", "--black-vars", "--include", "--exclude", "--keep-io", "--low-io", "--target"}) {
      o->app.add_option(name, o->lists[i++])->delimiter(',');
    }
    i = 0;
    for (const char* name : {"--guard", "--promote", "--program-only"}) o->app.add_flag(name, o->flags[i++]);
    return o;
  }();
  static auto* const kFile = new MemoryFile;
  kFile->Set(bytes);
  kOptions->app.clear();
  return CheckPolite(ApplyConvertConfig(kFile->path(), kOptions->app));
}

}  // namespace ampc::fuzz
