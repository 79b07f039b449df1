// Values on their way into and out of executors.
#pragma once

#include <deque>

#include "absl/status/status.h"
#include "graph/base/host_tensor.h"
#include "runtime/exec/observer.h"

namespace ampc {

// The elements of `out`, which is in its declared type, from those in storage type.
void Narrow(const void* from, int threads, HostTensor& out);

// The same, of a value in declared or storage type, to memory.
void ToDeclared(const HostTensor& value, DType declared, void* to);
// `n` elements of declared type to `out`, which is in declared or storage type.
void FromDeclared(const void* from, DType declared, HostTensor& out);

// Observers see row-major values: a converted copy goes to `owned`.
absl::Status MakePlain(ObservedValue& value, std::deque<HostTensor>& owned);

}  // namespace ampc
