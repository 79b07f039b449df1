// A screenshot in numbers.
#pragma once

#include <string>

namespace ampc::testing {

struct ImageFacts {
  int width = 0, height = 0;  // 0 where the bytes are no PNG of 8 bits per channel
  int colours = 0;            // different ones
  double brightness = 0;      // mean, 0 to 255
};

ImageFacts ReadPng(const std::string& bytes);

}  // namespace ampc::testing
