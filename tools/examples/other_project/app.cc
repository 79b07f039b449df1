// A program of another Bazel project: prints what a model takes and gives.
#include <cstdio>

#include "runtime/session.h"

int main(int argc, char** argv) {
  absl::StatusOr<ampc::Session> session = ampc::Session::Load(argc > 1 ? argv[1] : "model.pdmodel");
  if (!session.ok()) {
    std::fprintf(stderr, "app: %s\n", std::string(session.status().message()).c_str());
    return 1;
  }
  for (const ampc::ValueInfo& v : session->inputs()) std::printf("in  %s : %s\n", v.name.c_str(), ampc::ToString(v.type).c_str());
  for (const ampc::ValueInfo& v : session->outputs()) std::printf("out %s : %s\n", v.name.c_str(), ampc::ToString(v.type).c_str());
  return 0;
}
