// Damaged text gives an error or a program, never a crash; and whatever parses prints and parses to itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "graph/base/error.h"
#include "graph/text/parser.h"
#include "graph/verify.h"
#include "tests/testlib/round_trip.h"

namespace ampc {
namespace {

// The programs of the folder, and text with every kind of value.
std::vector<std::string> Texts() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("tests/text/programs")) {
    if (entry.path().extension() == ".prog") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const std::filesystem::path& path : paths) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    texts.push_back(text.str());
  }
  texts.push_back(
      "const a : f16 [2] = [nan(0x7e01), 0.1]\nconst b : c64 [1] = [complex(1, -inf)]\nparam c : f16 [2, 2] !was=f32 = f32 [1, 2, 3, "
      "4]|f16(keep,flush)\n"
      "feed \"d\\x00\" : array<bf16> [?, n, \"m n\"] lod=3\n"
      "o(A=[a, b], B=-) -> C=[e, f] a=nan b=nand c=scalar(complex(1.0d, 2.0d)) d=[1l, 2l] e=string[] f=$x g=&main !opaque !guard=3 "
      "!amp=fp32(\"r\\\\\\\"\\t\") "
      "!was=[f32, -] !as=[-, \"q\"] !was.a=f32 !stop_gradient=[true, false] : f32 [*], opaque\n");
  return texts;
}

void Check(const std::string& text) {
  ParseOptions options;
  options.bare = true;
  options.open_files = false;
  options.max_fill_bytes = 1 << 16;
  const absl::StatusOr<Program> program = ParseProgram(text, options);
  if (!program.ok()) {
    ASSERT_EQ(ExitCodeOf(program.status()), ExitCode::kBadInput) << program.status() << "\n" << text;
    ASSERT_EQ(program.status().message().find('\n'), std::string::npos) << program.status() << "\n" << text;
    return;
  }
  const absl::Status status = testing::CheckRoundTrip(*program);
  ASSERT_TRUE(status.ok()) << status << "\nfrom\n" << text;
  Verify(*program).IgnoreError();  // whatever it says
}

TEST(DamagedText, EveryPrefix) {
  for (const std::string& text : Texts()) {
    for (size_t n = 0; n < text.size(); ++n) Check(text.substr(0, n));
  }
}

TEST(DamagedText, EveryByteRemoved) {
  for (const std::string& text : Texts()) {
    for (size_t n = 0; n < text.size(); ++n) Check(std::string(text).erase(n, 1));
  }
}

TEST(DamagedText, RandomEdits) {
  constexpr char kBytes[] = "abx019 ._-<>=,:()[]{}!&|+?*@$\"\\#\n\r\t\x01\x80\xff";
  std::mt19937 random(7);
  const auto below = [&random](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const std::vector<std::string> texts = Texts();
  for (int round = 0; round < 20000; ++round) {
    std::string text = texts[below(texts.size())];
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      const size_t at = below(text.size()), length = std::min(below(12), text.size() - at);
      switch (below(4)) {
        case 0: text[at] = kBytes[below(sizeof(kBytes) - 1)]; break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(below(text.size()), text.substr(at, length)); break;
        default: text.insert(at, 1, kBytes[below(sizeof(kBytes) - 1)]);
      }
    }
    Check(text);
  }
}

TEST(DamagedText, LongRunsOfOneThingTakeLinearTime) {
  const auto repeat = [](const std::string& piece) {
    std::string out;
    while (out.size() < 1'000'000) out += piece;
    return out;
  };
  const std::string head = "feed x : f32 [4]\n";
  for (const std::string& text :
       {repeat("["), repeat("("), "feed x : f32 [" + repeat("n, "), head + "y = relu(x) a=" + repeat("["),
        head + "y = relu(x) a=[" + repeat("1, "), head + "y = relu(x)" + repeat(" a=1"), head + "o(" + repeat("a=x, "),
        head + repeat("y, "), repeat("\n"), repeat("\""), repeat("block b {\n"), head + "o(X=[" + repeat("x, ") + "x]) !opaque\n",
        repeat("# \n"), "const c : f32 [?] = [" + repeat("1,")}) {
    Check(text);
  }
  // Distinct names: attributes, slots, symbols, blocks one in another.
  std::string attrs = head + "y = relu(x)", slots = head + "o(", symbols, blocks, parent = "main";
  for (int i = 0; i < 50000; ++i) {
    const std::string n = std::to_string(i);
    attrs += " a" + n + "=1";
    slots += "a" + n + "=x, ";
    symbols += "feed x" + n + " : f32 [s" + n + "]\n";
    blocks += "block b" + n + " parent=" + parent + " {\n}\n";
    parent = "b" + n;
  }
  for (const std::string& text : {attrs, slots, symbols, blocks}) Check(text);
}

}  // namespace
}  // namespace ampc
