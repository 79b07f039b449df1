// The device that a test of models runs on, by what the test links.
#pragma once

#include <string>

namespace ampc::testing {

std::string DeviceName();

}  // namespace ampc::testing
