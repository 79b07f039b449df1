// LoadImages.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/train/batches.h"
#include "tools/train/idx_file.h"

namespace ampc {
namespace {

constexpr int kSide = 28, kClasses = 10;

absl::StatusOr<IdxArray> ReadPart(const std::string& folder, absl::string_view name, int rank) {
  const std::string plain = absl::StrCat(folder, "/", name);
  for (const std::string& path : {plain + ".gz", plain}) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return ReadIdx(path, rank);
  }
  return BadInputError(
      absl::StrCat("found no '", plain, ".gz', needed the data set of Debian's package dataset-fashion-mnist, or --data with its folder"));
}

absl::StatusOr<ImageSet> ReadSet(const std::string& folder, absl::string_view name) {
  AMPC_ASSIGN_OR_RETURN(IdxArray images, ReadPart(folder, absl::StrCat(name, "-images-idx3-ubyte"), 3));
  AMPC_ASSIGN_OR_RETURN(IdxArray labels, ReadPart(folder, absl::StrCat(name, "-labels-idx1-ubyte"), 1));
  const std::string where = absl::StrCat("'", folder, "', set ", name, ": found ");
  if (images.dims[1] != kSide || images.dims[2] != kSide) {
    return BadInputError(absl::StrCat(where, "images of ", images.dims[1], " x ", images.dims[2], ", needed 28 x 28"));
  }
  if (images.dims[0] != labels.dims[0] || images.dims[0] == 0) {
    return BadInputError(absl::StrCat(where, images.dims[0], " images and ", labels.dims[0], " labels, needed the same number from 1"));
  }
  for (size_t i = 0; i < labels.bytes.size(); ++i) {
    const int label = static_cast<unsigned char>(labels.bytes[i]);
    if (label >= kClasses) return BadInputError(absl::StrCat(where, "label ", label, " at ", i, ", needed one below ", kClasses));
  }
  return ImageSet{images.dims[0], kSide, kSide, std::move(images.bytes), std::move(labels.bytes)};
}

}  // namespace

absl::StatusOr<Dataset> LoadImages(const std::string& folder) {
  Dataset data;
  AMPC_ASSIGN_OR_RETURN(data.train, ReadSet(folder, "train"));
  AMPC_ASSIGN_OR_RETURN(data.test, ReadSet(folder, "t10k"));
  return data;
}

}  // namespace ampc
