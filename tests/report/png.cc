#include "tests/report/png.h"

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <vector>

namespace ampc::testing {
namespace {

uint32_t Big(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

int Paeth(int left, int up, int corner) {
  const int guess = left + up - corner;
  const int a = std::abs(guess - left), b = std::abs(guess - up), c = std::abs(guess - corner);
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

// Takes the filters of the rows back, in place.
void Unfilter(std::vector<unsigned char>& rows, int height, int stride, int channels) {
  std::vector<unsigned char> zero(stride, 0);
  for (int y = 0; y < height; ++y) {
    unsigned char* row = rows.data() + static_cast<size_t>(y) * (stride + 1) + 1;
    const unsigned char* above = y == 0 ? zero.data() : row - stride - 1;
    const int filter = row[-1];
    for (int x = 0; x < stride; ++x) {
      const int left = x < channels ? 0 : row[x - channels], corner = x < channels ? 0 : above[x - channels];
      const int add[] = {0, left, above[x], (left + above[x]) / 2, Paeth(left, above[x], corner)};
      row[x] = static_cast<unsigned char>(row[x] + add[filter < 5 ? filter : 0]);
    }
  }
}

}  // namespace

ImageFacts ReadPng(const std::string& bytes) {
  ImageFacts facts;
  if (bytes.size() < 33 || bytes.compare(1, 3, "PNG") != 0) return facts;
  const int width = static_cast<int>(Big(bytes, 16)), height = static_cast<int>(Big(bytes, 20));
  const int channels = bytes[25] == 2 ? 3 : bytes[25] == 6 ? 4 : 0;
  if (channels == 0 || bytes[24] != 8) return facts;
  std::string packed;
  for (size_t at = 8; at + 12 <= bytes.size();) {
    const uint32_t length = Big(bytes, at);
    if (bytes.compare(at + 4, 4, "IDAT") == 0) packed += bytes.substr(at + 8, length);
    at += 12 + length;
  }
  const int stride = width * channels;
  std::vector<unsigned char> rows(static_cast<size_t>(height) * (stride + 1));
  uLongf size = rows.size();
  if (uncompress(rows.data(), &size, reinterpret_cast<const unsigned char*>(packed.data()), packed.size()) != Z_OK || size != rows.size())
    return facts;
  Unfilter(rows, height, stride, channels);
  std::set<uint32_t> colours;
  double sum = 0;
  for (int y = 0; y < height; ++y) {
    const unsigned char* row = rows.data() + static_cast<size_t>(y) * (stride + 1) + 1;
    for (int x = 0; x < stride; x += channels) {
      colours.insert(row[x] << 16 | row[x + 1] << 8 | row[x + 2]);
      sum += (row[x] + row[x + 1] + row[x + 2]) / 3.0;
    }
  }
  facts = {width, height, static_cast<int>(colours.size()), sum / width / height};
  return facts;
}

}  // namespace ampc::testing
