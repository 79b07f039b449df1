#include "tools/cli/convert_config.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"
#include "runtime/convert/options.h"

namespace ampc {
namespace {

constexpr char kVersionKey[] = "ampc-config";

// The row of an option that a file may have; null for none.
const ConvertOption* FindKey(absl::string_view name) {
  for (const ConvertOption& option : ConvertOptionTable()) {
    if (option.scope != OptionScope::kRun && option.form != OptionForm::kNone && option.name == name) return &option;
  }
  return nullptr;
}

const char* Needs(OptionForm form) {
  switch (form) {
    case OptionForm::kText: return "a string";
    case OptionForm::kNumber: return "a number";
    case OptionForm::kFlag: return "true or false";
    case OptionForm::kList: return "an array of strings";
    case OptionForm::kFlagOrNames:
    case OptionForm::kNone: break;
  }
  return "true, false or an array of names";
}

// The option's values, one by one; empty for its default.
absl::StatusOr<std::vector<std::string>> Words(const ConvertOption& key, const JsonValue& value) {
  const absl::Status wrong = BadInputError(absl::StrCat("'", key.name, "' is ", Name(value.kind), ", needs ", Needs(key.form)));
  std::vector<std::string> out;
  const bool flag = key.form == OptionForm::kFlag || key.form == OptionForm::kFlagOrNames;
  if (value.Is(JsonValue::Kind::kBool) && flag) {
    if (value.boolean) out.push_back("true");
    return out;
  }
  const bool text = key.form == OptionForm::kText, number = key.form == OptionForm::kNumber;
  if ((text && value.Is(JsonValue::Kind::kString)) || (number && value.Is(JsonValue::Kind::kNumber)))
    return std::vector<std::string>{value.text};
  if (!value.Is(JsonValue::Kind::kArray) || text || number || key.form == OptionForm::kFlag) return wrong;
  for (const JsonValue& item : value.items) {
    if (!item.Is(JsonValue::Kind::kString)) return wrong;
    out.push_back(item.text);
  }
  return out;
}

absl::Status ApplyMember(const JsonValue::Member& member, bool io_given, const Options& options) {
  const ConvertOption* key = FindKey(member.key);
  const std::string option = absl::StrCat("--", member.key);
  if (key == nullptr) {
    if (options.Has(option)) return BadInputError(absl::StrCat("'", member.key, "' belongs on the command line"));
    return BadInputError(absl::StrCat("there is no key '", member.key, "'", Suggest(member.key, ConvertConfigKeys())));
  }
  AMPC_ASSIGN_OR_RETURN(std::vector<std::string> words, Words(*key, member.value));
  if (words.empty() || options.Given(option) || (io_given && key->form == OptionForm::kFlagOrNames)) return absl::OkStatus();
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
  for (const ConvertOption& option : ConvertOptionTable()) {
    if (FindKey(option.name) == &option) names.push_back(option.name);
  }
  return names;
}

absl::Status ApplyConvertConfig(const std::string& path, const Options& options) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const absl::StatusOr<JsonValue> json = ParseJson(file.text());
  if (!json.ok()) return Annotate(json.status(), path);
  const JsonValue* config = json->Find(kVersionKey) == nullptr ? json->Find("config") : nullptr;
  return ApplyConvertConfig(config == nullptr ? *json : *config, path, options);
}

absl::Status ApplyConvertConfig(const JsonValue& config, const std::string& path, const Options& options) {
  return Annotate(Apply(config, options), path);
}

}  // namespace ampc
