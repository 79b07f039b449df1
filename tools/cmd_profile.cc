// ampc profile: how long the ops of a model take on this machine.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "runtime/convert/options.h"
#include "runtime/feed_words.h"
#include "runtime/profile/profile_model.h"
#include "tools/cli/command.h"

namespace ampc {
namespace {

struct ProfileFlags {
  ProfileOptions options;
  std::vector<std::string> dims;
  int shown = 20;
  bool json = false;
};

std::string Microseconds(double seconds) { return absl::StrFormat("%.1f", seconds * 1e6); }

std::string Table(const ProfileResult& result, int shown) {
  const bool low = result.low != DType::kInvalid;
  const std::string word = low ? DTypeWord(result.low) : "";
  std::vector<std::vector<std::string>> rows = {{"us of one thread", "value", "fp32", "predicted"}};
  if (low) rows[0].insert(rows[0].end(), {word, "predicted"});
  for (const ProfiledOp& op : result.ops) {
    if (static_cast<int>(rows.size()) > shown) break;
    std::vector<std::string> row = {op.type, op.value, Microseconds(op.fp32), Microseconds(op.predicted_fp32)};
    if (low) row.push_back(op.low.has_value() ? Microseconds(*op.low) : "-");
    if (low) row.push_back(op.predicted_low.has_value() ? Microseconds(*op.predicted_low) : "-");
    rows.push_back(std::move(row));
  }
  return rows.size() > 1 ? FormatTable(rows) : "";
}

std::string RunText(absl::string_view type, const ProfiledRun& run) {
  return absl::StrCat(type, " ", HumanSeconds(run.measured), ", from the work of its ops ", HumanSeconds(run.predicted));
}

std::string Summary(const ProfileOptions& options, const ProfileResult& r, int shown) {
  std::string out = absl::StrCat(options.model, ": one thread of ", r.device, " with ", r.feeds, "\n", Table(r, shown),
                                 "a run: ", RunText("fp32", r.fp32));
  if (r.low != DType::kInvalid) absl::StrAppend(&out, "; ", RunText(DTypeWord(r.low), r.mixed));
  return absl::StrCat(out, "\n", r.file, ": ", r.known, r.known == 1 ? " op\n" : " ops\n");
}

absl::Status Run(ProfileFlags flags, Console& console) {
  Progress progress(console, "loading");
  flags.options.progress = [&progress](const std::string& stage) {
    progress.Stage(stage);
    return true;
  };
  AMPC_ASSIGN_OR_RETURN(flags.options.dims, ParseDimsOptions(flags.dims));
  AMPC_ASSIGN_OR_RETURN(const ProfileResult result, ProfileModel(flags.options));
  for (const std::string& note : result.notes) console.Note(note);
  console.Out(flags.json ? ProfileJson(flags.options, result) : Summary(flags.options, result, flags.shown));
  return absl::OkStatus();
}

void AddProfileOptions(const Options& options, ProfileFlags& flags) {
  options.Add("model", flags.options.model, kModelHelp).Required();
  options
      .Add("--output,-o", flags.options.file,
           "the times are added to this JSON file; default: that of this machine's CPU below ~/.cache/ampc")
      .Values("FILE");
  options.Add("--params", flags.options.params, "file with the weights").Values("FILE");
  const Options feeds = options.Under("Feeds");
  feeds.Add("--input,-i", flags.options.inputs, "feeds of a run: .npz, .safetensors, or NAME=file.npy; default: made-up ones")
      .Values("FILE");
  feeds.Add("--seed", flags.options.seed, "other values of made-up feeds").ShowDefault();
  feeds.Add("--dims", flags.dims, "dims of a feed that leaves some open").OneValueEach().Values("NAME=1,3,224,224");
  const Options output = options.Under("Measurement");
  output.Add("--seconds", flags.options.seconds, "of runs in each type, at least").NotNegative().ShowDefault();
  output.Add("--ops", flags.shown, "rows of the table; 0: no table").Between(0, 100000).ShowDefault();
  AddJsonFlag(options, &flags.json);
}

absl::Status CheckMeaning(const ProfileFlags& flags, const Options& options) {
  for (const char* option : {"--seed", "--dims"}) {
    if (!flags.options.inputs.empty() && options.Given(option))
      return UsageError(absl::StrCat(option, " is for feeds that are made up; they come from '", flags.options.inputs[0], "'"));
  }
  return absl::OkStatus();
}

}  // namespace

Command ProfileCommand() {
  return {"profile", "measures how long a model's ops take on this machine, for what convert and tune predict",
          "  ampc profile model.onnx                                         one thread, fp32 and the low type of this CPU\n"
          "  ampc profile model.pdmodel --dims x=1,3,48,320 -o times.json    into a file of its own\n"
          "Times of several models and sizes add up in one file; an op of any model finds those of one like it. Conversions and tune take\n"
          "them where their option profile names the file, or says cached.",
          [](Options options) -> Action {
            auto flags = std::make_shared<ProfileFlags>();
            AddProfileOptions(options, *flags);
            return [flags, options](Console& console) -> absl::Status {
              AMPC_RETURN_IF_ERROR(CheckMeaning(*flags, options));
              return Run(*flags, console);
            };
          }};
}

}  // namespace ampc
