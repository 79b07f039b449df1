// In place of NCCL: a group of one rank whose work is done at once, which loses another rank, and of which a call fails, when it is told
// so.
#include <nccl.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace {

std::atomic<ncclResult_t> earlier_error = ncclSuccess;
std::atomic<int> aborted = 0, destroyed = 0, made = 0;
std::mutex mutex;
std::map<std::string, ncclResult_t>& Failures() {
  static auto* const failures = new std::map<std::string, ncclResult_t>;
  return *failures;
}

ncclResult_t Code(const char* function) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto at = Failures().find(function);
  return at == Failures().end() ? ncclSuccess : at->second;
}

}  // namespace

extern "C" {

void AmpcShimLoseRank() { earlier_error = ncclRemoteError; }
int AmpcShimAborted() { return aborted; }
int AmpcShimDestroyed() { return destroyed; }
int AmpcShimMade() { return made; }
// Each call of the function returns the code; null: none does.
void AmpcShimFail(const char* function, int code) {
  const std::lock_guard<std::mutex> lock(mutex);
  Failures().clear();
  if (function != nullptr) Failures()[function] = static_cast<ncclResult_t>(code);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return Code("ncclGetUniqueId");
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int, ncclUniqueId, int) {
  const ncclResult_t code = Code("ncclCommInitRank");
  if (code != ncclSuccess) return code;
  *comm = reinterpret_cast<ncclComm_t>(&earlier_error);
  earlier_error = ncclSuccess;
  ++made;
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t) {
  ++destroyed;
  return Code("ncclCommDestroy");
}
ncclResult_t ncclCommAbort(ncclComm_t) {
  ++aborted;
  return Code("ncclCommAbort");
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = earlier_error;
  return Code("ncclCommGetAsyncError");
}
const char* ncclGetErrorString(ncclResult_t code) {
  return code == ncclRemoteError ? "remote process exited or there was a network error" : "an error of the shim";
}
const char* ncclGetLastError(ncclComm_t) { return ""; }
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t) {
  return Code("ncclAllReduce");
}
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) { return Code("ncclBroadcast"); }
ncclResult_t ncclGroupStart() { return Code("ncclGroupStart"); }
ncclResult_t ncclGroupEnd() { return Code("ncclGroupEnd"); }

}  // extern "C"
