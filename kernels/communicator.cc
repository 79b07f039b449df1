#include "kernels/communicator.h"

#include <utility>

namespace ampc {
namespace {

std::unique_ptr<Communicator>& Current() {
  static auto& current = *new std::unique_ptr<Communicator>;
  return current;
}

}  // namespace

Communicator* ProcessCommunicator() { return Current().get(); }

void SetProcessCommunicator(std::unique_ptr<Communicator> communicator) { Current() = std::move(communicator); }

}  // namespace ampc
