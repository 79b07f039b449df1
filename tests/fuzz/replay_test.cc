// Every target with every seed, and with small damage to each.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace ampc::fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> Seeds(const std::string& target) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator("tests/fuzz/seeds/" + target)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class Replay : public ::testing::TestWithParam<Target> {
 protected:
  void Run(const std::string& bytes, const std::string& what) const {
    const absl::Status status = GetParam().run(bytes);
    EXPECT_TRUE(status.ok()) << what << ": " << status;
  }
};

TEST_P(Replay, Seeds) {
  const std::vector<fs::path> seeds = Seeds(GetParam().name);
  ASSERT_FALSE(seeds.empty());
  for (const fs::path& seed : seeds) Run(Read(seed), seed);
  Run("", "nothing");
}

// The work of libFuzzer without its knowledge of the code: the same few thousand edits on every run.
class Damage : public Replay {};

TEST_P(Damage, OfSeeds) {
  std::mt19937 random(20);
  const auto below = [&random](size_t n) { return random() % n; };
  std::vector<std::string> seeds;
  for (const fs::path& seed : Seeds(GetParam().name)) {
    seeds.push_back(Read(seed));
    if (seeds.back().empty()) seeds.pop_back();
  }
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = seeds[below(seeds.size())];
    for (size_t edits = 1 + below(3); edits > 0; --edits) {
      const size_t at = below(bytes.size()), length = std::min<size_t>(below(16), bytes.size() - at);
      switch (below(5)) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
        case 2: bytes.insert(below(bytes.size()), bytes.substr(at, length)); break;
        case 3: bytes.insert(at, length, '\xff'); break;
        default: bytes.erase(at, std::min(length, bytes.size() - 1));
      }
    }
    Run(bytes, "round " + std::to_string(round));
  }
}

std::string NameOf(const ::testing::TestParamInfo<Target>& info) { return info.param.name; }

// The generator of models with extreme values has its own sweep in every build, in children that may crash (tests/extreme).
std::vector<Target> DamagedTargets() {
  std::vector<Target> targets(AllTargets().begin(), AllTargets().end());
  std::erase_if(targets, [](const Target& target) { return std::string(target.name) == "extreme"; });
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, ::testing::ValuesIn(AllTargets().begin(), AllTargets().end()), NameOf);
INSTANTIATE_TEST_SUITE_P(Targets, Damage, ::testing::ValuesIn(DamagedTargets()), NameOf);

}  // namespace
}  // namespace ampc::fuzz
