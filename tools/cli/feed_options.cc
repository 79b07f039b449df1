#include "tools/cli/feed_options.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "runtime/feeds.h"
#include "runtime/made_feeds.h"
#include "tools/cli/dims_option.h"
#include "tools/cli/picture.h"

namespace ampc {
namespace {

constexpr const char* kOfPictures[] = {"--mean", "--std", "--channels"};

bool HasPicture(const FeedFlags& flags) {
  return std::any_of(flags.inputs.begin(), flags.inputs.end(), [](const std::string& source) { return IsPicture(FileOfFeeds(source)); });
}

absl::StatusOr<std::map<std::string, std::vector<int64_t>>> DimsOf(const FeedFlags& flags) {
  std::map<std::string, std::vector<int64_t>> dims;
  for (const std::string& text : flags.dims) {
    AMPC_ASSIGN_OR_RETURN(auto given, ParseDimsOption(text));
    dims[given.first] = std::move(given.second);
  }
  return dims;
}

absl::StatusOr<std::vector<double>> NumbersOf(absl::string_view option, const std::vector<std::string>& words) {
  std::vector<double> numbers;
  for (const std::string& word : words) {
    if (!absl::SimpleAtod(word, &numbers.emplace_back())) return UsageError(absl::StrCat(option, ": found '", word, "', needed a number"));
  }
  return numbers;
}

absl::StatusOr<PictureOptions> PictureOptionsOf(const FeedFlags& flags) {
  PictureOptions options;
  AMPC_ASSIGN_OR_RETURN(options.mean, NumbersOf("--mean", flags.mean));
  AMPC_ASSIGN_OR_RETURN(options.deviation, NumbersOf("--std", flags.deviation));
  options.bgr = flags.channels == "BGR";
  AMPC_RETURN_IF_ERROR(CheckPictureOptions(options));
  return options;
}

// The input that a picture is for: NAME=photo.jpg, or the only one.
absl::StatusOr<const ValueInfo*> InputOf(const std::string& source, const std::vector<ValueInfo>& inputs) {
  std::vector<std::string> names;
  for (const ValueInfo& input : inputs) names.push_back(input.name);
  const size_t equals = source.find('=');
  if (equals == std::string::npos && inputs.size() == 1) return &inputs[0];
  if (equals == std::string::npos) {
    return UsageError(absl::StrCat("the picture '", source, "' has no name, and the model has ", inputs.size(),
                                   " feeds; say which: NAME=", source, " with NAME one of ", absl::StrJoin(names, ", ")));
  }
  const std::string name = source.substr(0, equals);
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return UsageError(absl::StrCat("the model has no feed '", name, "'", Suggest(name, names)));
  return &inputs[at - names.begin()];
}

}  // namespace

void AddFeedOptions(const Options& options, FeedFlags* flags) {
  const Options feeds = options.Under("Feeds");
  feeds
      .Add("inputs,--input,-i", flags->inputs,
           "feeds: .npz, .safetensors, NAME=file.npy, NAME=photo.jpg (.png, .bmp), without NAME for a model with one feed; several files "
           "add up")
      .Values("FILE");
  feeds.Flag("--random", flags->random, "feeds that are made up: ids within their tables, masks of ones, images, else numbers in [-1, 1)");
  feeds.Add("--seed", flags->seed, "other values of --random").ShowDefault();
  feeds.Add("--dims", flags->dims, "NAME=1,3,224,224: dims of a feed of --random or of a picture, where the model leaves them open")
      .Values("NAME=DIMS");
  feeds.Add("--mean", flags->mean, "subtracted from pictures, whose values are 0 to 1: one number, or one per channel: 0.485,0.456,0.406")
      .Values("NUMBERS")
      .SplitAtCommas()
      .OneValueEach();
  feeds.Add("--std", flags->deviation, "pictures are divided by it after that: 0.229,0.224,0.225")
      .Values("NUMBERS")
      .SplitAtCommas()
      .OneValueEach();
  feeds.Add("--channels", flags->channels, "which channel of pictures comes first").OneOf({"RGB", "BGR"}).ShowDefault();
}

absl::Status CheckFeedFlags(const Options& options, const FeedFlags& flags) {
  if (flags.random && !flags.inputs.empty())
    return UsageError(absl::StrCat("--random makes the feeds, and '", flags.inputs[0], "' has them; one of the two is needed"));
  const bool pictures = HasPicture(flags);
  for (const char* option : kOfPictures) {
    if (options.Given(option) && !pictures)
      return UsageError(absl::StrCat(option, " is for pictures (--input photo.jpg), and there is none"));
  }
  if (flags.random) return absl::OkStatus();
  if (flags.inputs.empty())
    return UsageError("no feeds: give a file (--input in.npz, NAME=file.npy), or --random for feeds that are made up");
  if (options.Given("--seed")) return UsageError(absl::StrCat("--seed is for --random; the feeds come from '", flags.inputs[0], "'"));
  if (options.Given("--dims") && !pictures)
    return UsageError(absl::StrCat("--dims is for --random and pictures; the feeds come from '", flags.inputs[0], "'"));
  return PictureOptionsOf(flags).status();
}

absl::StatusOr<TensorMap> FeedsOfFiles(const FeedFlags& flags, const std::vector<ValueInfo>& inputs) {
  AMPC_ASSIGN_OR_RETURN(const auto dims, DimsOf(flags));
  AMPC_ASSIGN_OR_RETURN(const PictureOptions options, PictureOptionsOf(flags));
  std::vector<std::string> others;
  std::vector<ValueInfo> left = inputs;
  TensorMap pictures;
  for (const std::string& source : flags.inputs) {
    if (!IsPicture(FileOfFeeds(source))) {
      others.push_back(source);
      continue;
    }
    AMPC_ASSIGN_OR_RETURN(const ValueInfo* input, InputOf(source, inputs));
    const auto given = dims.find(input->name);
    AMPC_ASSIGN_OR_RETURN(pictures[input->name],
                          ReadPicture(FileOfFeeds(source), *input, given == dims.end() ? std::vector<int64_t>() : given->second, options));
    std::erase_if(left, [&](const ValueInfo& other) { return other.name == input->name; });
  }
  AMPC_ASSIGN_OR_RETURN(TensorMap feeds, ReadFeeds(others, left));
  feeds.merge(pictures);
  return InTypesOf(std::move(feeds), inputs);
}

absl::Status UseFeeds(const FeedFlags& flags, const Session& session, const std::function<absl::Status(const TensorMap& feeds)>& use,
                      std::string* note) {
  if (!flags.random) {
    AMPC_ASSIGN_OR_RETURN(const TensorMap feeds, FeedsOfFiles(flags, session.inputs()));
    return use(feeds);
  }
  MadeFeedOptions options;
  options.seed = flags.seed;
  AMPC_ASSIGN_OR_RETURN(options.dims, DimsOf(flags));
  return UseFeedsThatFit(session.program(), options, use, note);
}

}  // namespace ampc
