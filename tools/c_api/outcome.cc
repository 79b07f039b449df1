#include "tools/c_api/outcome.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/formats/outputs.h"
#include "tools/c_api/errors.h"

namespace ampc::c_api {

std::function<bool(const ConvertProgress&)> ProgressOf(const ampc_callbacks* callbacks) {
  if (callbacks == nullptr || callbacks->progress == nullptr) return nullptr;
  return [callbacks](const ConvertProgress& now) {
    return callbacks->progress(callbacks->user, std::string(now.stage).c_str(), now.done, now.total) != 0;
  };
}

void Give(std::unique_ptr<ampc_outcome> outcome, const ampc_callbacks* callbacks, ampc_outcome** out) {
  if (callbacks != nullptr && callbacks->log != nullptr) {
    for (const std::string& note : outcome->notes) callbacks->log(callbacks->user, note.c_str());
  }
  for (const auto& [name, file] : outcome->files.files()) outcome->order.push_back(name);
  std::stable_partition(outcome->order.begin(), outcome->order.end(),
                        [&outcome](const std::string& name) { return name == outcome->head; });
  *out = outcome.release();
}

namespace {

ampc_code GetText(const char* where, const ampc_outcome* outcome, ampc_text ampc_outcome::*member, const char** text) {
  return Call(where, [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(outcome, "outcome"));
    AMPC_RETURN_IF_ERROR(Need(text, "text"));
    ampc_text& wanted = const_cast<ampc_outcome*>(outcome)->*member;
    if (wanted.make == nullptr) return UsageError("this outcome has no such text");
    if (wanted.text.empty()) wanted.text = wanted.make();
    *text = wanted.text.c_str();
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace ampc::c_api

using namespace ampc::c_api;

void ampc_free_outcome(ampc_outcome* outcome) { delete outcome; }

size_t ampc_num_files(const ampc_outcome* outcome) { return outcome == nullptr ? 0 : outcome->order.size(); }

ampc_code ampc_outcome_file(const ampc_outcome* outcome, size_t index, ampc_file* file) {
  return Call("ampc_outcome_file", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(outcome, "outcome"));
    AMPC_RETURN_IF_ERROR(Need(file, "file"));
    if (index >= outcome->order.size())
      return ampc::UsageError(absl::StrCat("the index is ", index, ", there are ", outcome->order.size(), " files"));
    const std::string& name = outcome->order[index];
    const ampc::MemoryFiles::File& found = *outcome->files.Find(name);
    *file = {name.c_str(), found.bytes.data(), found.bytes.size()};
    return absl::OkStatus();
  });
}

size_t ampc_num_notes(const ampc_outcome* outcome) { return outcome == nullptr ? 0 : outcome->notes.size(); }

const char* ampc_note(const ampc_outcome* outcome, size_t index) {
  return index < ampc_num_notes(outcome) ? outcome->notes[index].c_str() : nullptr;
}

ampc_code ampc_outcome_save(const ampc_outcome* outcome, const char* path) {
  return Call("ampc_outcome_save", [=]() -> absl::Status {
    AMPC_RETURN_IF_ERROR(Need(outcome, "outcome"));
    AMPC_RETURN_IF_ERROR(Need(path, "path"));
    if (outcome->program == nullptr) return ampc::UsageError("this outcome has no model");
    ampc::AtomicFileSet files;
    AMPC_RETURN_IF_ERROR(ampc::AddModel(*outcome->program, path, {}, &files));
    AMPC_RETURN_IF_ERROR(ampc::CheckOutputs(files.targets(), outcome->read));
    return files.Commit();
  });
}

ampc_code ampc_outcome_json(ampc_outcome* outcome, const char** text) {
  return GetText("ampc_outcome_json", outcome, &ampc_outcome::json, text);
}
ampc_code ampc_outcome_report(ampc_outcome* outcome, const char** text) {
  return GetText("ampc_outcome_report", outcome, &ampc_outcome::report, text);
}
ampc_code ampc_outcome_page(ampc_outcome* outcome, const char** text) {
  return GetText("ampc_outcome_page", outcome, &ampc_outcome::page, text);
}
