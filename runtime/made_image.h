// MadeImage: a picture for a model that gets none: paper in light and shadow with lines of letters on it, large ones first. It has what
// photos and pages have and noise has not: flat places, sharp borders, and something to find and to read.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace ampc {

class MadeImage {
 public:
  // Which letters they are is up to `random`.
  MadeImage(size_t height, size_t width, std::mt19937_64& random);
  // Between 0 and 1; places row by row, beginning again behind the last one.
  double At(size_t place) const;

 private:
  void Draw(size_t letter, size_t top, size_t left, size_t dot);

  size_t height_, width_;
  std::vector<bool> ink_;
};

// Of a period of 1, between -1 and 1: a parabola in the place of each half of a sine, with the same bits on every machine.
double Wave(double periods);

}  // namespace ampc
