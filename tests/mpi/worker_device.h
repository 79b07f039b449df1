// The device on which train_worker trains: what a program links decides.
#pragma once

#include <string>

namespace ampc::testing {

std::string WorkerDevice();

}  // namespace ampc::testing
