// One of the processes that mpi_test starts with mpirun; its only argument says what to do. Says `rank R of N ok`, or what was wrong.
#include <csignal>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "graph/text/parser.h"
#include "kernels/communicator.h"
#include "runtime/exec/scope.h"
#include "runtime/session.h"
#include "runtime/train/data_parallel.h"

namespace ampc {
namespace {

#define EXPECT(condition) \
  if (!(condition)) return InternalError(absl::StrCat("line ", __LINE__, ": " #condition))

absl::StatusOr<TensorMap> Reduce(absl::string_view text, const TensorMap& feeds) {
  ParseOptions bare;
  bare.bare = true;
  AMPC_ASSIGN_OR_RETURN(Program program, ParseProgram(text, bare));
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Create(std::move(program), {.threads = 1}));
  return session.Run(feeds);
}

// The mean is computed in fp32 and rounded once; an infinity of one process reaches all.
absl::Status MeansAreExact(const DataParallel& job) {
  const float r = static_cast<float>(job.rank());
  const float inf = std::numeric_limits<float>::infinity();
  const auto low = [](float value) { return Half(value); };
  TensorMap feeds;
  feeds.emplace("a", HostTensor::Of<float>({3}, {1 + r, job.rank() == 1 ? inf : 2, -r}));
  feeds.emplace("b", HostTensor::Of<Half>({2, 2}, {low(1 + r / 1024), low(65504), low(r == 0 ? 0 : -inf), low(r)}));
  AMPC_ASSIGN_OR_RETURN(const TensorMap out, Reduce("feed a : f32 [3]\nfeed b : f16 [2, 2]\n"
                                                    "c_allreduce_sum(X=[a, b]) -> Out=[c, d] average=true\n"
                                                    "e = c_allreduce_sum(a) : f32 [3]\nfetch c, d, e\n",
                                                    feeds));
  const auto c = out.at("c").values<float>();
  const auto d = out.at("d").values<Half>();
  const auto e = out.at("e").values<float>();
  EXPECT(c[0] == 1.5f && c[1] == inf && c[2] == -0.5f);
  EXPECT(static_cast<float>(d[0]) == 1 && static_cast<float>(d[1]) == 65504 && static_cast<float>(d[2]) == -inf &&
         static_cast<float>(d[3]) == 0.5f);
  EXPECT(e[0] == 3 && e[1] == inf && e[2] == -1);
  return absl::OkStatus();
}

// More than one pack, with tensors across its end.
absl::Status LongGradientsTravelInPacks(const DataParallel& job) {
  TensorMap feeds;
  for (const char* name : {"a", "b"}) {
    std::vector<float> values(3'000'001);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 8191) + static_cast<float>(job.rank());
    feeds.emplace(name, HostTensor::FromValues<float>({3'000'001}, values));
  }
  AMPC_ASSIGN_OR_RETURN(const TensorMap out, Reduce("feed a : f32 [?]\nfeed b : f32 [?]\n"
                                                    "c_allreduce_sum(X=[a, b]) -> Out=[c, d] average=true : f32 [?], f32 [?]\nfetch c, d\n",
                                                    feeds));
  for (const char* name : {"c", "d"}) {
    const auto values = out.at(name).values<float>();
    for (size_t i = 0; i < values.size(); ++i) EXPECT(values[i] == static_cast<float>(i % 8191) + 0.5f);
  }
  return absl::OkStatus();
}

absl::Status SharesAreRows(const DataParallel& job) {
  TensorMap batch;
  batch.emplace("x", HostTensor::Of<float>({5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  batch.emplace("y", HostTensor::Of<int64_t>({5}, {10, 11, 12, 13, 14}));
  AMPC_ASSIGN_OR_RETURN(const TensorMap share, job.Share(batch));
  EXPECT(share.at("x").dims() == (std::vector<int64_t>{2, 2}));
  EXPECT(share.at("x").values<float>()[3] == static_cast<float>(4 * job.rank() + 3));
  EXPECT(share.at("y").values<int64_t>()[0] == 10 + 2 * job.rank());
  TensorMap small;
  small.emplace("x", HostTensor::Of<float>({1, 2}, {0, 1}));
  EXPECT(ExitCodeOf(job.Share(small).status()) == ExitCode::kUsage);
  AMPC_ASSIGN_OR_RETURN(const double mean, job.Mean(job.rank()));
  EXPECT(mean == 0.5);
  return absl::OkStatus();
}

absl::Status ScopesBecomeThatOfProcess0(const DataParallel& job) {
  const float r = static_cast<float>(job.rank());
  Scope scope;
  AMPC_RETURN_IF_ERROR(scope.Add("w", DType::kF16, HostTensor::Of<float>({2}, {1 + r, 2})));
  AMPC_RETURN_IF_ERROR(scope.Add("step", DType::kI64, HostTensor::Of<int64_t>({1}, {7 + job.rank()})));
  AMPC_RETURN_IF_ERROR(job.Synchronize(scope));
  EXPECT(scope.Find("w")->value.values<float>()[0] == 1 && scope.Find("step")->value.values<int64_t>()[0] == 7);
  Scope other;
  AMPC_RETURN_IF_ERROR(other.Add(job.rank() == 0 ? "w" : "v", DType::kF32, HostTensor::Of<float>({1}, {r})));
  EXPECT(job.Synchronize(other).ok() == (job.rank() == 0));
  // Process 0 sent what the other did not take.
  float unused = 0;
  if (job.rank() != 0) AMPC_RETURN_IF_ERROR(ProcessCommunicator()->Broadcast({reinterpret_cast<char*>(&unused), sizeof(unused)}, 0));
  return absl::OkStatus();
}

absl::Status Collective(const DataParallel& job) {
  AMPC_RETURN_IF_ERROR(MeansAreExact(job));
  AMPC_RETURN_IF_ERROR(LongGradientsTravelInPacks(job));
  AMPC_RETURN_IF_ERROR(SharesAreRows(job));
  return ScopesBecomeThatOfProcess0(job);
}

absl::Status Main(const std::string& what) {
  AMPC_ASSIGN_OR_RETURN(DataParallel job, DataParallel::FromEnvironment());
  const int rank = job.rank(), size = job.size();
  if (what == "collective") AMPC_RETURN_IF_ERROR(Collective(job));
  if (what == "killed" && rank == 1) std::raise(SIGKILL);
  if (what == "fails" && rank == 1) return BadInputError("this process cannot go on");
  AMPC_RETURN_IF_ERROR(job.Finish());
  std::printf("rank %d of %d ok\n", rank, size);
  return absl::OkStatus();
}

}  // namespace
}  // namespace ampc

int main(int argc, char** argv) {
  const absl::Status status = ampc::Main(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return static_cast<int>(ampc::ExitCodeOf(status));
}
