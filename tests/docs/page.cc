#include "tests/docs/page.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "tests/formats/test_files.h"

namespace ampc::testing {
namespace {

bool IsFraction(const std::string& word) {
  return word.find_first_not_of("+-.0123456789e") == std::string::npos && word.find_first_of(".e") != std::string::npos &&
         std::isdigit(word.back()) != 0;
}

}  // namespace

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::vector<Block> Blocks(const std::string& path) {
  std::vector<Block> blocks;
  bool inside = false;
  for (const std::string& line : Lines(ReadFile(path))) {
    if (line.rfind("```", 0) != 0) {
      if (inside) blocks.back().lines.push_back(line);
      continue;
    }
    inside = !inside;
    if (!inside) continue;
    const size_t space = std::min(line.find(' '), line.size());
    blocks.push_back({line.substr(3, space - 3), space < line.size() ? line.substr(space + 1) : "", {}});
  }
  return blocks;
}

bool SameWord(const std::string& a, const std::string& b, double near) {
  if (a == b) return true;
  if (!IsFraction(a) || !IsFraction(b)) return false;
  const double x = std::atof(a.c_str()), y = std::atof(b.c_str());
  return std::abs(x - y) <= near * std::max(std::abs(x), std::abs(y));
}

}  // namespace ampc::testing
