#include "graph/formats/prog/prog_format.h"

#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"
#include "graph/formats/files_read.h"
#include "graph/formats/weight_file.h"
#include "graph/text/parser.h"
#include "graph/text/printer.h"

namespace ampc {
namespace {

// A value that was written in the text, and is short enough to stay there.
constexpr uint64_t kInlineBytes = 256;

bool HasSuffix(const std::string& path, bool is_directory) { return !is_directory && absl::EndsWith(path, ".prog"); }
bool Reads(const std::string& path, bool is_directory, absl::string_view /*head*/) { return HasSuffix(path, is_directory); }

bool StaysInline(const WeightRef& ref) {
  return ref.source != nullptr && ref.source->path().empty() && ref.transforms.empty() && ref.bytes <= kInlineBytes;
}

// What the text says of a file that is not there yet.
class FileName : public WeightSource {
 public:
  explicit FileName(std::string path) : path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  absl::Span<const char> bytes() const override { return {}; }

 private:
  std::string path_;
};

absl::StatusOr<Program> Load(const std::string& path, const LoadOptions& options) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  std::map<std::string, WeightFile> opened;
  ParseOptions parse;
  parse.file = path;
  parse.directory = std::filesystem::path(path).parent_path().string();
  parse.find_weight = [&](const std::string& weights, absl::string_view name) -> absl::StatusOr<WeightRef> {
    if (options.program_only) {
      FilesRead::Tell(weights);
      return WeightRef();
    }
    auto it = opened.find(weights);
    if (it == opened.end()) {
      AMPC_ASSIGN_OR_RETURN(WeightFile fresh, WeightFile::Open(weights));
      it = opened.emplace(weights, std::move(fresh)).first;
    }
    return it->second.Find(name);
  };
  AMPC_ASSIGN_OR_RETURN(Program program, ParseProgram(file.text(), parse));
  if (options.program_only) {
    ForEachVar(program, [](const Var& var) { const_cast<Var&>(var).weight = nullptr; });
  }
  return program;
}

absl::Status Save(const Program& program, const std::string& path, const SaveOptions& options, AtomicFileSet* set) {
  const std::string weights = WeightFileBeside(path);
  std::vector<std::string> keys = options.program_only ? std::vector<std::string>(program.num_var_ids()) : WeightKeys(program);
  // The text names the file that is written here, so it is printed from a copy whose weights lie there.
  std::vector<std::string> key_of;  // in the order of all variables, which a copy keeps
  ForEachVar(program, [&](const Var& var) {
    if (var.weight != nullptr && StaysInline(*var.weight)) keys[var.id()].clear();
    key_of.push_back(keys[var.id()]);
  });
  Program copy = program.Clone();
  AMPC_RETURN_IF_ERROR(WriteWeightFile(program, keys, weights, options, set).status());
  const auto file = std::make_shared<const FileName>(weights);
  size_t next = 0;
  for (int b = 0; b < copy.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : copy.block(b).vars()) {
      const std::string& key = key_of[next++];
      if (var->weight == nullptr || (key.empty() && StaysInline(*var->weight))) continue;
      if (key.empty()) {
        var->weight = nullptr;
        continue;
      }
      var->weight->source = file;
      var->weight->name = key;
      var->weight->dtype = var->weight->final_dtype();
      var->weight->transforms.clear();
    }
  }
  PrintOptions print;
  print.directory = std::filesystem::path(path).parent_path().string();
  return set->Add(path, PrintProgram(copy, print));
}

}  // namespace

const ModelFormat& ProgFormat() {
  static const ModelFormat format = {"prog", "x.prog with x.safetensors", /*takes_params=*/false, Reads, HasSuffix, Load, Save};
  return format;
}

}  // namespace ampc
