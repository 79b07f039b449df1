// Markdown pages as tests read them.
#pragma once

#include <string>
#include <vector>

namespace ampc::testing {

// The text between two lines of three backquotes: ```console, ```cpp file=..., ```text new=...
struct Block {
  std::string kind, argument;
  std::vector<std::string> lines;
};
std::vector<Block> Blocks(const std::string& path);

std::vector<std::string> Lines(const std::string& text);
std::string Joined(const std::vector<std::string>& lines);

// Equal, or both numbers with a fraction that differ by at most `near` times the larger one.
bool SameWord(const std::string& a, const std::string& b, double near);

}  // namespace ampc::testing
