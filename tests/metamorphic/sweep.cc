// sweep [--first N] [--count N] [--seconds N] [--write SEED FOLDER]
// Checks the programs and options of the seeds from N on, until there are so many or the time is over; prints those that fail and the seed
// to go on with. Exit status 1 where any fails. --write leaves the files of one in a folder.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/metamorphic/properties.h"

namespace ampc::metamorphic {
namespace {

int Write(uint64_t seed, const std::string& folder) {
  const CheckResult result = CheckProperties(seed, folder);
  std::printf("%s\n%s\n", result.options.c_str(), result.status.ok() ? "all holds" : result.status.ToString().c_str());
  return result.status.ok() ? 0 : 1;
}

int Main(int argc, char** argv) {
  int64_t first = 0, count = 1000, seconds = 1000000;
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--first") first = std::atoll(argv[i + 1]);
    if (flag == "--count") count = std::atoll(argv[i + 1]);
    if (flag == "--seconds") seconds = std::atoll(argv[i + 1]);
    if (flag == "--write" && i + 2 < argc) return Write(std::atoll(argv[i + 1]), argv[i + 2]);
  }
  const std::string folder = std::filesystem::temp_directory_path() / ("metamorphic." + std::to_string(first));
  std::filesystem::create_directories(folder);
  const auto start = std::chrono::steady_clock::now();
  int64_t failed = 0, refused = 0, seed = first;
  for (; seed < first + count && std::chrono::steady_clock::now() - start < std::chrono::seconds(seconds); ++seed) {
    const CheckResult result = CheckProperties(seed, folder);
    refused += result.refused ? 1 : 0;
    if (result.status.ok()) continue;
    ++failed;
    std::printf("seed %lld: %s\n  %s\n", static_cast<long long>(seed), std::string(result.status.message()).c_str(),
                result.options.c_str());
    std::fflush(stdout);
  }
  std::filesystem::remove_all(folder);
  std::printf("%lld checked, %lld refused, %lld failed; go on with --first %lld\n", static_cast<long long>(seed - first),
              static_cast<long long>(refused), static_cast<long long>(failed), static_cast<long long>(seed));
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ampc::metamorphic

int main(int argc, char** argv) { return ampc::metamorphic::Main(argc, argv); }
