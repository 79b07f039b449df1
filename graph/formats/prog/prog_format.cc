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

// The text for a file that is not there yet.
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
      FilesRead::Record(weights);
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
  // The text names the file that is written here.
  const auto file = std::make_shared<const FileName>(weights);
  std::vector<std::unique_ptr<WeightRef>> written(program.num_var_ids());
  ForEachVar(program, [&](const Var& var) {
    if (var.weight == nullptr) return;
    std::string& key = keys[var.id()];
    const bool stays = StaysInline(*var.weight);
    if (stays) key.clear();
    if (!stays && key.empty()) return;
    auto& ref = written[var.id()] = std::make_unique<WeightRef>(*var.weight);
    if (stays) return;
    ref->source = file;
    ref->name = key;
    ref->dtype = ref->final_dtype();
    ref->transforms.clear();
  });
  AMPC_RETURN_IF_ERROR(WriteWeightFile(program, keys, weights, options, set).status());
  PrintOptions print;
  print.directory = std::filesystem::path(path).parent_path().string();
  print.weights = &written;
  return set->Add(path, PrintProgram(program, print));
}

}  // namespace

const ModelFormat& ProgFormat() {
  static const ModelFormat format = {
      "prog", "x.prog with x.safetensors", /*takes_params=*/false, /*takes_folders=*/false, Reads, HasSuffix, Load, Save};
  return format;
}

}  // namespace ampc
