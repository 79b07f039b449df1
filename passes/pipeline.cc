#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/verify.h"

namespace ampc {
namespace {

absl::Status CheckStep(const PipelineStep& step) {
  const PassInfo* info = Passes().Find(step.pass);
  if (info == nullptr) {
    std::vector<std::string> names;
    for (const PassInfo* p : Passes().All()) names.push_back(p->name);
    return UsageError(absl::StrCat("pipeline: there is no pass '", step.pass, "'", Suggest(step.pass, names)));
  }
  for (const auto& [key, value] : step.options) {
    std::vector<std::string> names;
    for (const auto& [name, help] : info->options) names.push_back(name);
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    return UsageError(absl::StrCat("pipeline: pass '", step.pass, "' has no option '", key, "'", Suggest(key, names),
                                   names.empty() ? ", it takes none" : absl::StrCat(", it takes ", absl::StrJoin(names, ", "))));
  }
  return absl::OkStatus();
}

// Reads `name{key=value,key="a,b"},name,...`.
class PipelineParser {
 public:
  explicit PipelineParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<PipelineStep>> Parse() {
    std::vector<PipelineStep> steps;
    if (absl::StripAsciiWhitespace(text_).empty()) return steps;
    do {
      PipelineStep step;
      step.pass = Word(",{");
      if (Eat('{')) AMPC_RETURN_IF_ERROR(ParseOptions(&step));
      AMPC_RETURN_IF_ERROR(CheckStep(step));
      steps.push_back(std::move(step));
    } while (Eat(','));
    if (pos_ != text_.size()) return Error("a comma");
    return steps;
  }

 private:
  absl::Status ParseOptions(PipelineStep* step) {
    if (Eat('}')) return absl::OkStatus();
    do {
      const std::string key = Word("=,}");
      std::string value;
      if (Eat('=')) {
        Skip();
        if (pos_ < text_.size() && text_[pos_] == '"') {
          if (!Quoted(&value)) return Error("a closing quote");
        } else {
          value = Word(",}");
        }
      } else {
        value = "true";
      }
      if (!step->options.emplace(key, std::move(value)).second) {
        return UsageError(absl::StrCat("pipeline: pass '", step->pass, "' has option '", key, "' twice"));
      }
    } while (Eat(','));
    return Eat('}') ? absl::OkStatus() : Error("'}'");
  }

  // `"..."`, in which two quotes stand for one.
  bool Quoted(std::string* value) {
    for (size_t begin = pos_ + 1;;) {
      const size_t end = text_.find('"', begin);
      if (end == absl::string_view::npos) return false;
      absl::StrAppend(value, text_.substr(begin, end - begin));
      if (end + 1 >= text_.size() || text_[end + 1] != '"') {
        pos_ = end + 1;
        return true;
      }
      value->push_back('"');
      begin = end + 2;
    }
  }
  void Skip() {
    while (pos_ < text_.size() && absl::ascii_isspace(text_[pos_])) ++pos_;
  }
  bool Eat(char c) {
    Skip();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  std::string Word(absl::string_view stops) {
    const size_t end = std::min(text_.find_first_of(stops, pos_), text_.size());
    const absl::string_view word = absl::StripAsciiWhitespace(text_.substr(pos_, end - pos_));
    pos_ = end;
    return std::string(word);
  }
  absl::Status Error(absl::string_view needs) const {
    return UsageError(absl::StrCat("pipeline '", text_, "': character ", pos_ + 1, " needs ", needs));
  }

  absl::string_view text_;
  size_t pos_ = 0;
};

absl::Status RunStep(const PipelineStep& step, const PipelineOptions& options, PassContext& ctx, Program& program, bool* changed) {
  const PassInfo* info = Passes().Find(step.pass);
  if (info == nullptr) return CheckStep(step);
  const uint64_t before = options.check_claims ? Fingerprint(program) : 0;
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Pass> pass, info->make(step.options));
  AMPC_ASSIGN_OR_RETURN(*changed, pass->Run(ctx, program));
  if (options.check_claims && (Fingerprint(program) != before) != *changed) {
    return InternalError(absl::StrCat("reported changed=", *changed ? "true" : "false", ", the program disagrees"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Pipeline> Pipeline::Parse(absl::string_view text) {
  Pipeline pipeline;
  AMPC_ASSIGN_OR_RETURN(pipeline.steps_, PipelineParser(text).Parse());
  return pipeline;
}

Pipeline& Pipeline::Add(std::string pass, PassOptions options) {
  steps_.push_back({std::move(pass), std::move(options)});
  return *this;
}

std::string Pipeline::ToString() const {
  return absl::StrJoin(steps_, ",", [](std::string* out, const PipelineStep& step) {
    absl::StrAppend(out, step.pass);
    if (step.options.empty()) return;
    absl::StrAppend(out, "{",
                    absl::StrJoin(step.options, ",",
                                  [](std::string* o, const auto& kv) {
                                    const bool quote = kv.second.find_first_of(",}{=\" ") != std::string::npos || kv.second.empty();
                                    absl::StrAppend(o, kv.first, "=", quote ? "\"" : "",
                                                    quote ? absl::StrReplaceAll(kv.second, {{"\"", "\"\""}}) : kv.second,
                                                    quote ? "\"" : "");
                                  }),
                    "}");
  });
}

absl::Status RunPipeline(const Pipeline& pipeline, const PipelineOptions& options, PassContext& ctx, Program& program) {
  const std::vector<PipelineStep>& steps = pipeline.steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    if (options.stop_after >= 0 && static_cast<int>(i) >= options.stop_after) break;
    if (options.before) AMPC_RETURN_IF_ERROR(options.before(steps[i]));
    const auto start = std::chrono::steady_clock::now();
    bool changed = false;
    const absl::Status ran = RunStep(steps[i], options, ctx, program, &changed);
    const std::string place = absl::StrCat("pass '", steps[i].pass, "'");
    if (!ran.ok() && ExitCodeOf(ran) == ExitCode::kUsage && !options.names_passes) return ran;
    if (!ran.ok()) return Annotate(ran, place);
    const bool completes = Passes().Find(steps[i].pass)->completes;
    if (changed && (completes || options.verify_each)) {
      const absl::Status sound = Verify(program);
      if (!sound.ok() && completes) return Annotate(sound, place);
      if (!sound.ok()) return InternalError(absl::StrCat(sound.message(), "; first seen after ", place));
    }
    if (options.after) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      options.after(steps[i], static_cast<int>(i), program, changed, seconds);
    }
  }
  return absl::OkStatus();
}

}  // namespace ampc
