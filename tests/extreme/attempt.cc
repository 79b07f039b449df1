#include "tests/extreme/attempt.h"

#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/text/printer.h"
#include "runtime/convert/convert.h"
#include "runtime/convert/model_facts.h"
#include "runtime/session.h"
#include "tools/cli/uncaught.h"

namespace ampc::extreme {
namespace {

absl::Status Inspect(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const Program program, LoadModel(path));
  PrintOptions options;
  options.brief = true;
  return PrintProgram(program, options).empty() || FactsOf(program).num_ops < 0 ? InternalError("nothing to inspect") : absl::OkStatus();
}

absl::Status Convert(const std::string& path, const std::string& to) {
  ConvertOptions convert;
  convert.model = path;
  convert.output = to;
  convert.no_sync = true;
  return Convert(convert).status();
}

absl::Status Run(const std::string& path, const TensorMap& feeds, TensorMap* fetches) {
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Load(path, {.threads = 1}));
  AMPC_ASSIGN_OR_RETURN(*fetches, session.Run(feeds));
  return absl::OkStatus();
}

// The first word of a message that only the compiler knows; "" for none.
std::string OwnWord(const std::string& text, const std::string& operator_name) {
  static const std::regex op("op '([^']*)'"), own(R"(\bonnx\.[A-Za-z]\w*|\bcom\.microsoft\.\w+\.\d|\(\w+\.c\d+\))");
  for (std::sregex_iterator it(text.begin(), text.end(), op), end; it != end; ++it) {
    if ((*it)[1] != operator_name) return it->str();
  }
  std::smatch found;
  return std::regex_search(text, found, own) ? found.str() : "";
}

}  // namespace

Attempt Try(const OddModel& model, const std::string& folder, void (*begun)(const char* stage)) {
  const std::string path = absl::StrCat(folder, "/odd", ExtensionOf(model)), to = absl::StrCat(folder, "/low", ExtensionOf(model));
  std::ofstream file(path, std::ios::binary);
  file << FileOf(model);
  file.close();
  if (!file) std::abort();  // nothing would be tried
  Attempt attempt;
  if (model.schema != nullptr) attempt.operator_name = model.schema->type;
  const auto stage = [&](const char* name, const auto& run) {
    if (!attempt.status.ok()) return;
    attempt.stage = name;
    if (begun != nullptr) begun(name);
    try {
      attempt.status = run();
    } catch (const std::bad_alloc&) {
      attempt.status = InternalError(kOutOfMemory);
    } catch (const std::exception& error) {
      attempt.status = InternalError(absl::StrCat("exception: ", error.what()));
    }
  };
  stage("inspect", [&] { return Inspect(path); });
  // A model that cannot be converted may run, and the other way round.
  const absl::Status inspected = attempt.status;
  stage("convert", [&] { return Convert(path, to); });
  if (inspected.ok() && CheckPolite(attempt).ok()) {
    attempt.status = absl::OkStatus();
    stage("run", [&] { return Run(path, FeedsOf(model), &attempt.fetches); });
  }
  attempt.too_little_memory = absl::StrContains(attempt.status.message(), "memory");
  return attempt;
}

absl::Status CheckPolite(const Attempt& attempt) {
  const absl::Status& status = attempt.status;
  if (status.ok()) return status;
  const absl::string_view text = status.message();
  if (text.empty() || absl::StrContains(text, "\n")) return InternalError(absl::StrCat(attempt.stage, ": not one sentence: '", text, "'"));
  const std::string own = attempt.operator_name.empty() ? "" : OwnWord(std::string(text), attempt.operator_name);
  if (!own.empty()) return InternalError(absl::StrCat(attempt.stage, ": says ", own, ": ", text));
  if (ExitCodeOf(status) != ExitCode::kInternal || absl::StrContains(text, "memory")) return absl::OkStatus();
  return InternalError(absl::StrCat(attempt.stage, ": exit 5: ", text));
}

}  // namespace ampc::extreme
