// FeedWords: how files become feeds, in the words of the command line and of the options of a conversion.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/feeds.h"

namespace ampc {

struct FeedWords {
  std::vector<std::string> dims;             // NAME=1,3,224,224
  std::vector<std::string> mean, deviation;  // of pictures: a number each
  std::string channels = "RGB";              // or BGR
};

// "x=1,3,48,320", or with x between the numbers as peers write it; "x=" has no dims. A usage error for anything else.
absl::StatusOr<std::pair<std::string, std::vector<int64_t>>> ParseDimsOption(absl::string_view text);
absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ParseDimsOptions(const std::vector<std::string>& dims);

// A usage error for what is no number, and for numbers that no picture can be normalized by.
absl::StatusOr<FeedOptions> ParseFeedWords(const FeedWords& words);

}  // namespace ampc
