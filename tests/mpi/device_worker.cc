// One of the processes that mpi_test starts with mpirun: exchanges in buckets between emulated devices. Says `rank R of N ok`, or what was
// wrong.
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "graph/text/parser.h"
#include "kernels/device/open_device.h"
#include "runtime/session.h"
#include "runtime/train/data_parallel.h"
#include "runtime/train/join_devices.h"
#include "tests/mpi/worker_device.h"

namespace ampc {
namespace {

#define EXPECT(condition) \
  if (!(condition)) return InternalError(absl::StrCat("line ", __LINE__, ": " #condition))

// Work goes on between start and finish, and what is exchanged is overwritten meanwhile.
constexpr char kProgram[] =
    "feed x : f32 [5]\nfeed y : f16 [3]\n"
    "a = relu(x) : f32 [5]\n"
    "p = c_allreduce_start(X=[a, y])\n"
    "b = scale(a) scale=2.0 : f32 [5]\n"
    "q = c_allreduce_start(X=[b]) bucket=1\n"
    "c = scale(b) scale=2.0 : f32 [5]\n"
    "c_allreduce_finish(Pack=p, X=[a, y]) -> Out=[sa, sy] average=true\n"
    "c_allreduce_finish(Pack=q, X=[b]) -> Out=[sb] bucket=1\n"
    "d = c_allreduce_sum(c) : f32 [5]\n"
    "fetch sa, sy, sb, c, d\n";

absl::Status Buckets(const Session& session, float r) {
  TensorMap feeds;
  feeds.emplace("x", HostTensor::Of<float>({5}, {r, 1, 2 + r, -1, 4}));
  feeds.emplace("y", HostTensor::Of<Half>({3}, {Half(1 + r), Half(65504), Half(r)}));
  AMPC_ASSIGN_OR_RETURN(const TensorMap out, session.Run(feeds));
  const float x[2][5] = {{0, 1, 2, 0, 4}, {1, 1, 3, 0, 4}};
  for (int i = 0; i < 5; ++i) {
    const float sum = x[0][i] + x[1][i];
    EXPECT(out.at("sa").values<float>()[i] == sum / 2);
    EXPECT(out.at("sb").values<float>()[i] == 2 * sum);
    EXPECT(out.at("d").values<float>()[i] == 4 * sum);
    EXPECT(out.at("c").values<float>()[i] == 4 * x[static_cast<int>(r)][i]);
  }
  const auto sy = out.at("sy").values<Half>();
  EXPECT(static_cast<float>(sy[0]) == 1.5f && static_cast<float>(sy[1]) == 65504 && static_cast<float>(sy[2]) == 0.5f);
  return absl::OkStatus();
}

absl::Status Main() {
  AMPC_ASSIGN_OR_RETURN(DataParallel job, DataParallel::FromEnvironment());
  const int rank = job.rank(), size = job.size();
  const std::string name = testing::WorkerDevice();
  AMPC_ASSIGN_OR_RETURN(const DeviceTarget target, OpenDevice(name));
  AMPC_RETURN_IF_ERROR(JoinDevices(target));
  {
    ParseOptions bare;
    bare.bare = true;
    AMPC_ASSIGN_OR_RETURN(Program program, ParseProgram(kProgram, bare));
    AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(std::move(program), {.device = name, .threads = 1}));
    // Plans are captured after some runs.
    for (int run = 0; run < 5; ++run) AMPC_RETURN_IF_ERROR(Buckets(session, static_cast<float>(rank)));
  }
  AMPC_RETURN_IF_ERROR(job.Finish());
  std::printf("rank %d of %d ok\n", rank, size);
  return absl::OkStatus();
}

}  // namespace
}  // namespace ampc

int main() {
  const absl::Status status = ampc::Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return static_cast<int>(ampc::ExitCodeOf(status));
}
