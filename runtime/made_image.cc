#include "runtime/made_image.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

namespace ampc {
namespace {

constexpr size_t kRows = 7, kColumns = 5;  // dots of a letter
// Letters that are others, or none, when turned over. A row is a number whose bits are dots, the highest one on the left.
constexpr uint8_t kLetters[][kRows] = {
    {14, 17, 17, 31, 17, 17, 17},  // A
    {31, 16, 16, 30, 16, 16, 31},  // E
    {31, 16, 16, 30, 16, 16, 16},  // F
    {14, 17, 16, 23, 17, 17, 15},  // G
    {7, 2, 2, 2, 2, 18, 12},       // J
    {17, 18, 20, 24, 20, 18, 17},  // K
    {30, 17, 17, 30, 16, 16, 16},  // P
    {30, 17, 17, 30, 20, 18, 17},  // R
    {31, 4, 4, 4, 4, 4, 4},        // T
    {17, 17, 17, 10, 4, 4, 4},     // Y
};

}  // namespace

double Wave(double periods) {
  const double x = 2 * (periods - std::floor(periods)) - 1;
  return 4 * x * (1 - std::fabs(x));
}

MadeImage::MadeImage(size_t height, size_t width, std::mt19937_64& random) : height_(height), width_(width), ink_(height * width, false) {
  // One line of a low picture, which is a line of text; many of a high one, which is a page.
  const size_t least = std::max<size_t>(height / 100, 1);
  size_t dot = std::max(height < 96 ? height / 12 : height / 56, least);
  size_t top = dot;
  while (top + kRows * dot <= height) {
    for (size_t left = dot; left + kColumns * dot <= width; left += (kColumns + 1) * dot)
      Draw(random() % std::size(kLetters), top, left, dot);
    top += (kRows + 5) * dot;
    dot = std::max(dot / 2, least);
  }
}

void MadeImage::Draw(size_t letter, size_t top, size_t left, size_t dot) {
  for (size_t y = 0; y < kRows * dot; ++y) {
    for (size_t x = 0; x < kColumns * dot; ++x) {
      const bool is_ink = (kLetters[letter][y / dot] >> (kColumns - 1 - x / dot) & 1) != 0;
      if (is_ink) ink_[(top + y) * width_ + left + x] = true;
    }
  }
}

double MadeImage::At(size_t place) const {
  const size_t x = place % width_, y = place / width_ % height_;
  const double paper = 0.8 + 0.15 * Wave(static_cast<double>(x) / 371 + static_cast<double>(y) / 533);
  return ink_[y * width_ + x] ? paper - 0.65 : paper;
}

}  // namespace ampc
