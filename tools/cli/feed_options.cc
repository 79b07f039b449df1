#include "tools/cli/feed_options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "runtime/feed_words.h"
#include "runtime/feeds.h"
#include "runtime/made_feeds.h"
#include "runtime/picture.h"

namespace ampc {
namespace {

bool HasPicture(const std::vector<std::string>& files) {
  return std::any_of(files.begin(), files.end(), [](const std::string& source) { return IsPicture(FileOfFeeds(source)); });
}

}  // namespace

void AddFeedOptions(const Options& options, FeedFlags* flags) {
  const Options feeds = options.Under("Feeds");
  feeds
      .Add("inputs,--input,-i", flags->inputs,
           "feeds: .npz, .safetensors, NAME=file.npy, NAME=photo.jpg (.png, .bmp), without NAME for a model with one feed; several files "
           "add up; compare: a feed that is given again begins another run")
      .Values("FILE");
  feeds.Flag("--random", flags->random, "feeds that are made up: ids within their tables, masks of ones, images, else numbers in [-1, 1)");
  feeds.Add("--seed", flags->seed, "other values of --random").ShowDefault();
  feeds.Add("--dims", flags->words.dims, "NAME=1,3,224,224: dims of a feed of --random or of a picture, where the model leaves them open")
      .Values("NAME=DIMS");
  feeds
      .Add("--mean", flags->words.mean,
           "subtracted from pictures, whose values are 0 to 1: one number, or one per channel: 0.485,0.456,0.406")
      .Values("NUMBERS")
      .SplitAtCommas()
      .OneValueEach();
  feeds.Add("--std", flags->words.deviation, "pictures are divided by it after that: 0.229,0.224,0.225")
      .Values("NUMBERS")
      .SplitAtCommas()
      .OneValueEach();
  feeds.Add("--channels", flags->words.channels, "which channel of pictures comes first").OneOf({"RGB", "BGR"}).ShowDefault();
}

absl::Status CheckFeedFlags(const Options& options, const FeedFlags& flags) {
  if (flags.random && !flags.inputs.empty())
    return UsageError(absl::StrCat("--random makes the feeds, and '", flags.inputs[0], "' has them; one of the two is needed"));
  AMPC_RETURN_IF_ERROR(CheckPictureFlags(options, flags.inputs, flags.random));
  if (flags.random) return absl::OkStatus();
  if (flags.inputs.empty())
    return UsageError("no feeds: give a file (--input in.npz, NAME=file.npy), or --random for feeds that are made up");
  if (options.Given("--seed")) return UsageError(absl::StrCat("--seed is for --random; the feeds come from '", flags.inputs[0], "'"));
  return ParseFeedWords(flags.words).status();
}

absl::Status CheckPictureFlags(const Options& options, const std::vector<std::string>& files, bool made) {
  if (HasPicture(files)) return absl::OkStatus();
  if (options.Given("--dims") && !made)
    return UsageError("--dims is for pictures (photo.jpg) and for feeds that are made up, and there are none");
  for (const char* option : {"--mean", "--std", "--channels"}) {
    if (options.Given(option)) return UsageError(absl::StrCat(option, " is for pictures (photo.jpg), and there is none"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FeedsOfARun>> RunsOfFiles(const FeedFlags& flags, const std::vector<ValueInfo>& inputs) {
  AMPC_ASSIGN_OR_RETURN(const FeedOptions options, ParseFeedWords(flags.words));
  return ReadRuns(flags.inputs, inputs, options);
}

absl::Status UseFeeds(const FeedFlags& flags, const Session& session, const std::function<absl::Status(const TensorMap& feeds)>& use,
                      std::string* note) {
  AMPC_ASSIGN_OR_RETURN(FeedOptions options, ParseFeedWords(flags.words));
  if (flags.random) return UseFeedsThatFit(session.program(), {.seed = flags.seed, .dims = std::move(options.dims)}, use, note);
  AMPC_ASSIGN_OR_RETURN(const TensorMap feeds, ReadFeeds(flags.inputs, session.inputs(), options));
  return use(feeds);
}

}  // namespace ampc
