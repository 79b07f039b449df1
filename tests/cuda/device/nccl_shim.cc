// In place of NCCL: a group of one rank whose work is done at once, and which loses another rank when it is told so.
#include <nccl.h>

#include <atomic>

namespace {

std::atomic<ncclResult_t> earlier_error = ncclSuccess;
std::atomic<int> aborted = 0, destroyed = 0;

}  // namespace

extern "C" {

void AmpcShimLoseRank() { earlier_error = ncclRemoteError; }
int AmpcShimAborted() { return aborted; }
int AmpcShimDestroyed() { return destroyed; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int, ncclUniqueId, int) {
  *comm = reinterpret_cast<ncclComm_t>(&earlier_error);
  earlier_error = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t) {
  ++destroyed;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t) {
  ++aborted;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = earlier_error;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "remote process exited or there was a network error"; }
const char* ncclGetLastError(ncclComm_t) { return ""; }
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t) { return ncclSuccess; }
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) { return ncclSuccess; }
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

}  // extern "C"
