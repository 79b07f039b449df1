#include "graph/formats/tensor_io/npz.h"

#include <gtest/gtest.h>

#include <complex>
#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "graph/base/error.h"
#include "tests/base/damage.h"
#include "tests/formats/test_files.h"

namespace ampc {
namespace {

using Tensors = std::map<std::string, HostTensor>;

template <typename T>
HostTensor Ramp() {
  return HostTensor::Of<T>({2, 3}, {T(0), T(1), T(2), T(3), T(4), T(5)});
}

Tensors GoldenTensors() {
  using C64 = std::complex<float>;
  using C128 = std::complex<double>;
  return {{"bool", HostTensor::Of<bool>({2, 3}, {false, true, false, true, false, true})},
          {"uint8", Ramp<uint8_t>()},
          {"int8", Ramp<int8_t>()},
          {"int16", Ramp<int16_t>()},
          {"int32", Ramp<int32_t>()},
          {"int64", Ramp<int64_t>()},
          {"float16", Ramp<Half>()},
          {"float32", Ramp<float>()},
          {"float64", Ramp<double>()},
          {"complex64", HostTensor::Of<C64>({2, 3}, {C64(0, 0), C64(1, 1), C64(2, 2), C64(3, 3), C64(4, 4), C64(5, 5)})},
          {"complex128", HostTensor::Of<C128>({2, 3}, {C128(0, 0), C128(1, 1), C128(2, 2), C128(3, 3), C128(4, 4), C128(5, 5)})}};
}

class NpzTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return std::string("tests/base/golden/") + GetParam(); }
};

TEST_P(NpzTest, ReadsWhatNumPyWrote) {
  const absl::StatusOr<Tensors> tensors = ReadNpz(path());
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_EQ(*tensors, GoldenTensors());
}

// The checksums let no changed value through; what is still read is what was written.
TEST_P(NpzTest, RefusesEveryDamageToTheValues) {
  const Tensors golden = GoldenTensors();
  size_t refused = 0;
  const std::string file = testing::ReadFile(path());
  ForEachDamage(file, [&](const std::string& content, const std::string& what) {
    const absl::StatusOr<Tensors> tensors = ParseNpz(content, "a.npz");
    if (!tensors.ok()) {
      ++refused;
      return ExpectFileError(tensors.status(), "a.npz", what);
    }
    EXPECT_EQ(tensors->size(), golden.size()) << what;
    for (const auto& [name, tensor] : *tensors) {
      const auto original = golden.find(name);
      EXPECT_TRUE(original == golden.end() || tensor == original->second) << what << " " << name;
    }
  });
  EXPECT_GT(refused, file.size()) << "every cut file and many changed ones must be refused";
}

INSTANTIATE_TEST_SUITE_P(Golden, NpzTest, ::testing::Values("stored.npz", "compressed.npz"),
                         [](const auto& info) { return std::string(info.param, std::string(info.param).find('.')); });

TEST(NpzWriter, RoundTripsAndIsDeterministic) {
  testing::TempFolder dir;
  Tensors tensors = GoldenTensors();
  tensors["\xc3\xa9/with.dots"] = HostTensor::Of<float>({}, {1});
  tensors["empty"] = HostTensor::Of<float>({0}, {});
  ASSERT_TRUE(WriteNpz(dir / "a.npz", tensors).ok());
  EXPECT_EQ(*ReadNpz(dir / "a.npz"), tensors);
  ASSERT_TRUE(WriteNpz(dir / "b.npz", tensors).ok());
  EXPECT_EQ(testing::ReadFile(dir / "a.npz"), testing::ReadFile(dir / "b.npz"));
  ASSERT_TRUE(WriteNpz(dir / "none.npz", {}).ok());
  EXPECT_TRUE(ReadNpz(dir / "none.npz")->empty());
}

std::string Hex(absl::string_view bytes) { return absl::BytesToHexString(bytes); }

// The directory and the record at the end, field by field: readers differ in what they look at.
TEST(NpzWriter, EveryFieldOfTheDirectoryIsAsTheFormatHasIt) {
  testing::TempFolder dir;
  ASSERT_TRUE(WriteNpz(dir / "a.npz", {{"x", Ramp<float>()}}).ok());
  const std::string file = testing::ReadFile(dir / "a.npz");
  const size_t entry = 46 + 5, end = 22, start = file.size() - end - entry;
  const std::string crc_and_sizes = Hex(file.substr(14, 12));
  EXPECT_EQ(Hex(file.substr(0, 14)),
            "504b03041400000000000000"
            "2100");
  EXPECT_EQ(Hex(file.substr(18, 4)), Hex(file.substr(22, 4)));
  EXPECT_EQ(Hex(file.substr(26, 9)), "05000000" + Hex("x.npy"));
  EXPECT_EQ(Hex(file.substr(start, entry)),
            "504b01022d001400000000000000"
            "2100" +
                crc_and_sizes +
                "0500000000000000000000000000"
                "00000000" +
                Hex("x.npy"));
  std::string offset;
  for (int i = 0; i < 4; ++i) offset.push_back(static_cast<char>(start >> (8 * i)));
  EXPECT_EQ(Hex(file.substr(file.size() - end)), "504b0506000000000100010033000000" + Hex(offset) + "0000");
}

TEST(NpzWriter, WritesBFloat16AsFloat) {
  testing::TempFolder dir;
  ASSERT_TRUE(WriteNpz(dir / "a.npz", {{"x", Ramp<BFloat16>()}}).ok());
  EXPECT_EQ(ReadNpz(dir / "a.npz")->at("x"), Ramp<float>());
}

TEST(NpzWriter, ManyMembersNeedZip64) {
  testing::TempFolder dir;
  Tensors tensors;
  for (int i = 0; i < 70000; ++i) tensors[std::to_string(i)] = HostTensor::Of<int32_t>({}, {i});
  ASSERT_TRUE(WriteNpz(dir / "a.npz", tensors, {.no_sync = true}).ok());
  const absl::StatusOr<Tensors> read = ReadNpz(dir / "a.npz");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, tensors);
  // The records of 64 bits at the end, field by field.
  const std::string file = testing::ReadFile(dir / "a.npz");
  const size_t record = file.size() - 22 - 20 - 56;
  std::string offset;
  for (int i = 0; i < 8; ++i) offset.push_back(static_cast<char>(record >> (8 * i)));
  const std::string members = "7011010000000000";
  EXPECT_EQ(Hex(file.substr(record, 40)), "504b06062c000000000000002d002d000000000000000000" + members + members);
  EXPECT_EQ(Hex(file.substr(record + 56, 20)), "504b060700000000" + Hex(offset) + "01000000");
  EXPECT_EQ(Hex(file.substr(file.size() - 22, 12)), "504b050600000000ffffffff");
}

// NumPy moves sizes and offset into a zip64 record when they may pass 4 GiB; a reader takes them from there whatever they are.
TEST(NpzReader, TakesSizesFromAZip64Record) {
  testing::TempFolder dir;
  ASSERT_TRUE(WriteNpz(dir / "a.npz", {{"x", Ramp<float>()}}).ok());
  std::string archive = testing::ReadFile(dir / "a.npz");
  const size_t entry = archive.find("PK\x01\x02"), end = archive.find("PK\x05\x06");
  const std::string size = archive.substr(entry + 24, 4) + std::string(4, '\0'), offset(8, '\0');
  const std::string record = std::string("\x01\x00\x18\x00", 4) + size + size + offset;
  archive[end + 12] = static_cast<char>(archive[end + 12] + record.size());  // bytes of the directory
  archive.insert(end, record);
  archive[entry + 30] = static_cast<char>(record.size());
  for (const size_t field : {20, 24, 42}) archive.replace(entry + field, 4, 4, '\xff');
  const absl::StatusOr<Tensors> tensors = ParseNpz(archive, "a.npz");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_EQ(tensors->at("x"), Ramp<float>());
  archive[end + 2] = 16;  // the record says that it has only two values
  EXPECT_EQ(ParseNpz(archive, "a.npz").status().message(), "a.npz: damaged zip archive: a zip64 record is cut short");
}

TEST(NpzReader, AStoredMemberHasTheSizeOfItsBytes) {
  testing::TempFolder dir;
  ASSERT_TRUE(WriteNpz(dir / "a.npz", {{"x", Ramp<float>()}}).ok());
  const std::string archive = testing::ReadFile(dir / "a.npz");
  const size_t size = archive.find("PK\x01\x02") + 24;  // in the directory
  for (const int change : {-1, 1}) {
    std::string changed = archive;
    changed[size] = static_cast<char>(changed[size] + change);
    const std::string message(ParseNpz(changed, "a.npz").status().message());
    EXPECT_EQ(message.find("a.npz: member 'x.npy': is stored in "), 0u) << message;
  }
}

TEST(NpzReader, ErrorsAreSentences) {
  testing::TempFolder dir;
  EXPECT_EQ(ReadNpz(dir / "no").status().message(), dir / "no" + ": no such file");
  const std::string text = dir / "a.npz";
  testing::WriteFile(text, "hello");
  EXPECT_EQ(ReadNpz(text).status().message(), text + ": is not an npz file, needs a zip archive");
  const std::string cut = dir / "b.npz";
  testing::WriteFile(cut, "PK\x03\x04");
  EXPECT_EQ(ReadNpz(cut).status().message(), cut + ": damaged zip archive: its end record is missing");
  EXPECT_EQ(ExitCodeOf(ReadNpz(cut).status()), ExitCode::kBadInput);
}

}  // namespace
}  // namespace ampc
