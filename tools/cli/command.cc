#include "tools/cli/command.h"

namespace ampc {

void AddJsonFlag(const Options& options, bool* json) { options.Flag("--json", *json, "print one JSON object instead of text"); }

}  // namespace ampc
