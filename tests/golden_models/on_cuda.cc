#include "tests/golden_models/device_name.h"

namespace ampc::testing {

std::string DeviceName() { return "cuda:0"; }

}  // namespace ampc::testing
