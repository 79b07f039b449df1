#include "tools/cli/version.h"

namespace ampc {

const char* Version() { return AMPC_VERSION; }

}  // namespace ampc
