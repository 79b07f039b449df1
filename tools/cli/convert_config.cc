#include "tools/cli/convert_config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/json_reader.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

constexpr char kVersionKey[] = "ampc-config";

enum class Form : uint8_t { kText, kFlag, kList, kFlagOrList };

struct Key {
  const char* name;  // of the option, without the dashes
  Form form;
};
constexpr Key kKeys[] = {{"dtype", Form::kText},        {"level", Form::kText},        {"compat", Form::kText},       {"keep-io", Form::kFlagOrList},
                         {"low-io", Form::kFlagOrList}, {"guard", Form::kFlag},        {"promote", Form::kFlag},      {"white-list", Form::kList},
                         {"black-list", Form::kList},   {"black-vars", Form::kList},   {"include", Form::kList},      {"exclude", Form::kList},
                         {"on-overflow", Form::kText},  {"on-tiny", Form::kText},      {"target", Form::kText},       {"program-only", Form::kFlag}};

const char* Needs(Form form) {
  switch (form) {
    case Form::kText: return "a string";
    case Form::kFlag: return "true or false";
    case Form::kList: return "an array of strings";
    case Form::kFlagOrList: break;
  }
  return "true, false or an array of names";
}

// What the option gets, piece by piece; empty for what is its default anyway.
absl::StatusOr<std::vector<std::string>> Words(const Key& key, const JsonValue& value) {
  const absl::Status wrong = BadInputError(absl::StrCat("'", key.name, "' is ", Name(value.kind), ", needs ", Needs(key.form)));
  std::vector<std::string> out;
  const bool flag = key.form == Form::kFlag || key.form == Form::kFlagOrList;
  if (value.Is(JsonValue::Kind::kBool) && flag) {
    if (value.boolean) out.push_back("true");
    return out;
  }
  if (value.Is(JsonValue::Kind::kString) && key.form == Form::kText) return std::vector<std::string>{value.text};
  if (!value.Is(JsonValue::Kind::kArray) || key.form == Form::kText || key.form == Form::kFlag) return wrong;
  for (const JsonValue& item : value.items) {
    if (!item.Is(JsonValue::Kind::kString)) return wrong;
    out.push_back(item.text);
  }
  return out;
}

absl::Status ApplyMember(const JsonValue::Member& member, bool io_given, const Options& options) {
  const auto key = std::find_if(std::begin(kKeys), std::end(kKeys), [&member](const Key& k) { return k.name == member.key; });
  const std::string option = absl::StrCat("--", member.key);
  if (key == std::end(kKeys)) {
    if (options.Has(option)) return BadInputError(absl::StrCat("'", member.key, "' belongs on the command line"));
    return BadInputError(absl::StrCat("there is no key '", member.key, "'", Suggest(member.key, ConvertConfigKeys())));
  }
  AMPC_ASSIGN_OR_RETURN(std::vector<std::string> words, Words(*key, member.value));
  if (words.empty() || options.Given(option) || (io_given && key->form == Form::kFlagOrList)) return absl::OkStatus();
  return Annotate(options.Give(option, std::move(words)), absl::StrCat("'", member.key, "'"));
}

absl::Status Apply(const JsonValue& config, const Options& options) {
  if (!config.Is(JsonValue::Kind::kObject)) return BadInputError(absl::StrCat("found ", Name(config.kind), ", needs an object"));
  if (const JsonValue* version = config.Find(kVersionKey); version != nullptr && version->AsInt() != 1) {
    return BadInputError(absl::StrCat("'", kVersionKey, "' is ", version->text, ", this version reads 1"));
  }
  const bool io_given = options.Given("--keep-io") || options.Given("--low-io");
  for (const JsonValue::Member& member : config.members) {
    if (member.key != kVersionKey) AMPC_RETURN_IF_ERROR(ApplyMember(member, io_given, options));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> ConvertConfigKeys() {
  std::vector<std::string> names = {kVersionKey};
  for (const Key& key : kKeys) names.push_back(key.name);
  return names;
}

absl::Status ApplyConvertConfig(const std::string& path, const Options& options) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const absl::StatusOr<JsonValue> json = ParseJson(file.text());
  if (!json.ok()) return Annotate(json.status(), path);
  const JsonValue* config = json->Find(kVersionKey) == nullptr ? json->Find("config") : nullptr;
  return Annotate(Apply(config == nullptr ? *json : *config, options), path);
}

}  // namespace ampc
