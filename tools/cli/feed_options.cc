#include "tools/cli/feed_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "runtime/made_feeds.h"
#include "tools/cli/dims_option.h"
#include "tools/cli/tensors.h"

namespace ampc {
void AddFeedOptions(const Options& options, FeedFlags* flags) {
  const std::string heading = "Feeds";
  options
      .Add("inputs,--input,-i", flags->inputs,
           "feeds: .npz, .safetensors, NAME=file.npy, or a .npy file for a model with one feed; several files add up")
      .Values("FILE")
      .Under(heading);
  options.Flag("--random", flags->random, "feeds that are made up: ids within their tables, masks of ones, images, else numbers in [-1, 1)")
      .Under(heading);
  options.Add("--seed", flags->seed, "other values of --random").ShowDefault().Under(heading);
  options.Add("--dims", flags->dims, "NAME=1,3,224,224: dims of a feed of --random, where the model leaves them open")
      .Values("NAME=DIMS")
      .Under(heading);
}

absl::Status CheckFeedFlags(const Options& options, const FeedFlags& flags) {
  if (flags.random && !flags.inputs.empty())
    return UsageError(absl::StrCat("--random makes the feeds, and '", flags.inputs[0], "' has them; one of the two is needed"));
  if (flags.random) return absl::OkStatus();
  if (flags.inputs.empty())
    return UsageError("no feeds: give a file (--input in.npz, NAME=file.npy), or --random for feeds that are made up");
  for (const char* option : {"--seed", "--dims"}) {
    if (options.Given(option)) return UsageError(absl::StrCat(option, " is for --random; the feeds come from '", flags.inputs[0], "'"));
  }
  return absl::OkStatus();
}

absl::Status UseFeeds(const FeedFlags& flags, const Session& session, const std::function<absl::Status(const TensorMap& feeds)>& use,
                      std::string* note) {
  if (!flags.random) {
    AMPC_ASSIGN_OR_RETURN(const TensorMap feeds, ReadFeeds(flags.inputs, session.inputs()));
    return use(feeds);
  }
  MadeFeedOptions options;
  options.seed = flags.seed;
  for (const std::string& text : flags.dims) {
    AMPC_ASSIGN_OR_RETURN(auto given, ParseDimsOption(text));
    options.dims[given.first] = std::move(given.second);
  }
  return UseFeedsThatFit(session.program(), options, use, note);
}

}  // namespace ampc
