#include "runtime/picture.h"

#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/dtype.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

using Pixels = std::unique_ptr<stbi_uc, decltype(&stbi_image_free)>;

bool IsChannels(int64_t dim) { return dim == 1 || dim == 3; }

// The tensor of a picture, and how to count through it.
struct PictureLayout {
  std::vector<int64_t> dims;
  size_t channel = 0, height = 0;  // which of the dims; the width comes behind the height
  int64_t channels() const { return dims[channel]; }
};

absl::StatusOr<PictureLayout> PictureLayoutOf(const std::string& path, const ValueInfo& input, const std::vector<int64_t>& dims) {
  const auto wrong = [&](absl::string_view needed) {
    return UsageError(absl::StrCat("feed '", input.name, "' is ", ToString(input.type), ", the picture '", path, "' needs ", needed));
  };
  const DType dtype = input.type.dtype;
  if (!IsFloat(dtype) && dtype != DType::kU8) return wrong("a float type or u8");
  PictureLayout layout;
  layout.dims.assign(input.type.dims.begin(), input.type.dims.end());
  if (!dims.empty()) layout.dims = dims;
  const size_t rank = layout.dims.size();
  if (!input.type.has_rank && dims.empty())
    return wrong(absl::StrCat("a known number of dims; --dims ", input.name, "=1,3,224,224 says which"));
  if (rank != 3 && rank != 4) return wrong("3 or 4 dims: channels, height and width, or height, width and channels");
  const size_t first = rank - 3;
  if (first == 1 && layout.dims[0] < 0) layout.dims[0] = 1;
  if (first == 1 && layout.dims[0] != 1) return wrong("a batch of 1");
  if (!IsChannels(layout.dims[first]) && !IsChannels(layout.dims[rank - 1]))
    return wrong(absl::StrCat("1 or 3 channels, first or last; --dims ", input.name, "=1,3,224,224 says which"));
  const bool channels_first = IsChannels(layout.dims[first]) && !(layout.dims[first] == 1 && layout.dims[rank - 1] == 3);
  layout.channel = channels_first ? first : rank - 1;
  layout.height = channels_first ? first + 1 : first;
  return layout;
}

absl::StatusOr<Pixels> Decode(const std::string& path, int channels, int* width, int* height) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const auto bad = [&](absl::string_view why) {
    return BadInputError(absl::StrCat(path, ": not a picture that can be read (JPEG, PNG, BMP): ", why));
  };
  if (file.size() > static_cast<size_t>(std::numeric_limits<int>::max())) return bad("it is larger than 2 GB");
  const auto* bytes = reinterpret_cast<const stbi_uc*>(file.bytes().data());
  int in_file = 0;
  Pixels pixels(stbi_load_from_memory(bytes, static_cast<int>(file.size()), width, height, &in_file, channels), &stbi_image_free);
  if (pixels == nullptr) return bad(stbi_failure_reason());
  return pixels;
}

absl::StatusOr<HostTensor> Scaled(Pixels pixels, int width, int height, int64_t to_width, int64_t to_height, int channels) {
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Create(DType::kU8, {to_height, to_width, channels}));
  if (width == to_width && height == to_height) {
    std::copy_n(pixels.get(), out.size_bytes(), out.mutable_values<uint8_t>().begin());
  } else if (stbir_resize_uint8(pixels.get(), width, height, 0, out.mutable_values<uint8_t>().data(), static_cast<int>(to_width),
                                static_cast<int>(to_height), 0, channels) == 0) {
    return InternalError(absl::StrCat("no memory to scale a picture to ", to_width, " x ", to_height));
  }
  return out;
}

double Of(const std::vector<double>& values, int64_t channel, double otherwise) {
  return values.empty() ? otherwise : values[values.size() == 1 ? 0 : channel];
}

// From rows of pixels to the layout's order of dims.
template <typename T, typename Value>
HostTensor Arranged(const HostTensor& pixels, const PictureLayout& layout, bool bgr, HostTensor out, const Value& value) {
  const int64_t channels = layout.channels(), area = pixels.num_elements() / channels;
  const bool channels_first = layout.channel < layout.height;
  const absl::Span<const uint8_t> from = pixels.values<uint8_t>();
  const absl::Span<T> to = out.mutable_values<T>();
  for (int64_t i = 0; i < area; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      to[channels_first ? c * area + i : i * channels + c] = value(from[i * channels + (bgr ? channels - 1 - c : c)], c);
    }
  }
  return out;
}

absl::Status CheckCount(absl::string_view option, const std::vector<double>& values, const ValueInfo& input, int64_t channels) {
  if (values.size() <= 1 || static_cast<int64_t>(values.size()) == channels) return absl::OkStatus();
  return UsageError(absl::StrCat(option, " has ", values.size(), " numbers, feed '", input.name, "' needs 1 or ", channels));
}

}  // namespace

bool IsPicture(const std::string& path) {
  const std::string name = absl::AsciiStrToLower(path);
  for (const absl::string_view extension : {".jpg", ".jpeg", ".png", ".bmp"}) {
    if (absl::EndsWith(name, extension)) return true;
  }
  return false;
}

absl::Status CheckPictureOptions(const PictureOptions& options) {
  for (const double value : options.mean) {
    if (!std::isfinite(value)) return UsageError(absl::StrCat("--mean has ", value, ", a finite number is needed"));
  }
  for (const double value : options.deviation) {
    if (!std::isfinite(value) || value <= 0) return UsageError(absl::StrCat("--std has ", value, ", a number above 0 is needed"));
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> ReadPicture(const std::string& path, const ValueInfo& input, const std::vector<int64_t>& dims,
                                       const PictureOptions& options) {
  AMPC_ASSIGN_OR_RETURN(PictureLayout layout, PictureLayoutOf(path, input, dims));
  AMPC_RETURN_IF_ERROR(CheckCount("--mean", options.mean, input, layout.channels()));
  AMPC_RETURN_IF_ERROR(CheckCount("--std", options.deviation, input, layout.channels()));
  const bool normalized = !options.mean.empty() || !options.deviation.empty();
  if (normalized && input.type.dtype == DType::kU8)
    return UsageError(absl::StrCat("--mean and --std are for floats; feed '", input.name, "' is ", ToString(input.type)));
  int width = 0, height = 0;
  const int channels = static_cast<int>(layout.channels());
  AMPC_ASSIGN_OR_RETURN(Pixels pixels, Decode(path, channels, &width, &height));
  int64_t& to_height = layout.dims[layout.height];
  int64_t& to_width = layout.dims[layout.height + 1];
  if (to_height < 0) to_height = height;
  if (to_width < 0) to_width = width;
  if (to_height < 1 || to_width < 1 || to_height > 1 << 16 || to_width > 1 << 16)
    return UsageError(
        absl::StrCat("feed '", input.name, "' is ", ShapeToString(layout.dims), ", a picture has 1 to 65536 rows and columns"));
  AMPC_ASSIGN_OR_RETURN(const HostTensor scaled, Scaled(std::move(pixels), width, height, to_width, to_height, channels));
  const DType dtype = input.type.dtype == DType::kU8 ? DType::kU8 : DType::kF32;
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(dtype, layout.dims));
  if (dtype == DType::kU8)
    return Arranged<uint8_t>(scaled, layout, options.bgr, std::move(out), [](uint8_t pixel, int64_t) { return pixel; });
  return Arranged<float>(scaled, layout, options.bgr, std::move(out), [&options](uint8_t pixel, int64_t c) {
    return static_cast<float>((pixel / 255.0 - Of(options.mean, c, 0)) / Of(options.deviation, c, 1));
  });
}

}  // namespace ampc
