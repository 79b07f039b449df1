// Lists of any texts in the options of passes: names of files, selectors. Items are joined by ','; '%', ',', ';' and control characters in
// them are written %XX.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ampc {

std::string EscapeItem(absl::string_view item);
std::string UnescapeItem(absl::string_view text);
std::string JoinItems(const std::vector<std::string>& items);
std::vector<std::string> SplitItems(absl::string_view text);

}  // namespace ampc
