#include "tools/train/batches.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <set>
#include <string>

#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TempFolder;
using testing::WriteFile;

std::string Gzip(const std::string& text) {
  std::string out(text.size() + 64, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string Number(uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}

// Image i has the pixel i everywhere; its label is i % 10.
std::string Images(int count) {
  std::string out = Number(0x803) + Number(static_cast<uint32_t>(count)) + Number(28) + Number(28);
  for (int i = 0; i < count; ++i) out += std::string(28 * 28, static_cast<char>(i));
  return out;
}
std::string Labels(int count) {
  std::string out = Number(0x801) + Number(static_cast<uint32_t>(count));
  for (int i = 0; i < count; ++i) out += static_cast<char>(i % 10);
  return out;
}

class ImagesTest : public ::testing::Test {
 protected:
  ImagesTest() {
    WriteFile(folder_ / "train-images-idx3-ubyte.gz", Gzip(Images(11)));
    WriteFile(folder_ / "train-labels-idx1-ubyte.gz", Gzip(Labels(11)));
    WriteFile(folder_ / "t10k-images-idx3-ubyte", Images(4));
    WriteFile(folder_ / "t10k-labels-idx1-ubyte", Labels(4));
  }
  absl::StatusOr<Dataset> Load() const { return LoadImages(folder_.path()); }
  TempFolder folder_;
};

std::vector<int64_t> Classes(const BatchSource& source, int64_t epoch) {
  std::vector<int64_t> out;
  for (int64_t step = 0; step < source.steps(); ++step) {
    const absl::StatusOr<TensorMap> batch = source.Batch(epoch, step);
    EXPECT_OK(batch);
    for (int64_t y : batch->at("y").values<int64_t>()) out.push_back(y);
  }
  return out;
}

TEST_F(ImagesTest, BatchesHaveTheNormalisedPixels) {
  ASSERT_OK_AND_ASSIGN(const Dataset data, Load());
  ASSERT_OK_AND_ASSIGN(const auto source, ImageBatches(data.train, {.batch = 4, .shuffle = false}));
  EXPECT_EQ(source->steps(), 3);
  ASSERT_OK_AND_ASSIGN(TensorMap last, source->Batch(0, 2));
  EXPECT_THAT(last.at("x").dims(), ElementsAre(3, 1, 28, 28));
  EXPECT_THAT(last.at("y").dims(), ElementsAre(3, 1));
  EXPECT_THAT(last.at("y").values<int64_t>(), ElementsAre(8, 9, 0));
  EXPECT_NEAR(last.at("x").values<float>()[28 * 28], (9 / 255.0 - 0.28604) / 0.35302, 1e-6);
}

TEST_F(ImagesTest, EachEpochHasItsOwnOrderOfAllImages) {
  ASSERT_OK_AND_ASSIGN(const Dataset data, Load());
  ASSERT_OK_AND_ASSIGN(const auto source, ImageBatches(data.train, {.batch = 4, .seed = 5}));
  const std::vector<int64_t> first = Classes(*source, 0), second = Classes(*source, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(std::multiset<int64_t>(first.begin(), first.end()), std::multiset<int64_t>(second.begin(), second.end()));
  EXPECT_EQ(first, Classes(*source, 0));  // also after another epoch was asked for
  ASSERT_OK_AND_ASSIGN(const auto other, ImageBatches(data.train, {.batch = 4, .seed = 6}));
  EXPECT_NE(first, Classes(*other, 0));
}

TEST_F(ImagesTest, TheLastBatchMayBeLeftOut) {
  ASSERT_OK_AND_ASSIGN(const Dataset data, Load());
  ASSERT_OK_AND_ASSIGN(const auto source, ImageBatches(data.train, {.batch = 4, .drop_last = true}));
  EXPECT_EQ(source->steps(), 2);
  EXPECT_THAT(ImageBatches(data.train, {.batch = 12, .drop_last = true}),
              StatusIs(ExitCode::kUsage, HasSubstr("found 11 images for a batch of 12")));
  EXPECT_THAT(ImageBatches(data.train, {.batch = 0}), StatusIs(ExitCode::kUsage, HasSubstr("found a batch of 0")));
}

TEST_F(ImagesTest, BadFilesAreNamed) {
  const std::string images = folder_ / "train-images-idx3-ubyte.gz", labels = folder_ / "t10k-labels-idx1-ubyte";
  const std::string good = Gzip(Images(11));
  const auto expect_bad = [&](const std::string& path, const std::string& content, const std::string& message) {
    WriteFile(path, content);
    EXPECT_THAT(Load(), StatusIs(ExitCode::kBadInput, AllOf(HasSubstr(message), HasSubstr(folder_.path()))));
  };
  expect_bad(images, good.substr(0, good.size() / 2), "found a compressed file that ends after");
  std::string flipped = good;
  flipped[good.size() - 6] ^= 0x55;  // of the checksum
  expect_bad(images, flipped, "found damaged compressed data");
  expect_bad(images, Gzip(Images(11) + "more"), "found more than 8624 bytes of data, needed 8624");
  expect_bad(images, Number(0x803) + std::string(12, '\xff'), "found a header that promises more than 2 GB, needed less");
  expect_bad(images, Images(11).substr(0, 1000), "found 984 bytes of data, needed 8624");
  expect_bad(images, Images(11).substr(0, 9), "found 9 bytes, needed a header of 16");
  expect_bad(images, Labels(11) + std::string(16, '\0'), "found magic number 0x00000801, needed 0x00000803");
  expect_bad(images, Gzip(Images(10)), "found 10 images and 11 labels");
  WriteFile(images, good);
  std::string label = Labels(4);
  label[10] = 77;
  expect_bad(labels, label, "found label 77 at 2");
  WriteFile(labels, Labels(4));
  EXPECT_OK(Load());
  expect_bad(folder_ / "t10k-images-idx3-ubyte", Number(0x803) + Number(4) + Number(27) + Number(28) + std::string(4 * 27 * 28, '\0'),
             "found images of 27 x 28");
  EXPECT_THAT(LoadImages(folder_ / "nowhere"),
              StatusIs(ExitCode::kBadInput, HasSubstr("needed the data set of Debian's package dataset-fashion-mnist")));
}

TEST(Permutation, HoldsEachNumberOnce) {
  const std::vector<int32_t> order = Permutation(1000, 3, 7);
  EXPECT_EQ(std::set<int32_t>(order.begin(), order.end()).size(), 1000u);
  int kept = 0;
  for (int i = 0; i < 1000; ++i) kept += order[i] == i ? 1 : 0;
  EXPECT_LT(kept, 10);
}

TEST(RandomBatches, AreNormalAndDiffer) {
  ASSERT_OK_AND_ASSIGN(const auto source, RandomBatches(64, 3, {.batch = 128, .seed = 2}));
  EXPECT_EQ(source->steps(), 3);
  ASSERT_OK_AND_ASSIGN(const TensorMap a, source->Batch(0, 1));
  ASSERT_OK_AND_ASSIGN(const TensorMap b, source->Batch(1, 1));
  ASSERT_OK_AND_ASSIGN(const TensorMap c, source->Batch(0, 2));
  EXPECT_EQ(a.at("x"), b.at("x"));
  EXPECT_FALSE(a.at("x") == c.at("x"));
  EXPECT_FALSE(a.at("x") == a.at("y"));
  double sum = 0, squares = 0;
  for (float v : a.at("x").values<float>()) {
    sum += v;
    squares += v * v;
  }
  EXPECT_NEAR(sum / 8192, 0, 0.06);
  EXPECT_NEAR(squares / 8192, 1, 0.08);
}

}  // namespace
}  // namespace ampc
