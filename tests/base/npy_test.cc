#include "graph/formats/tensor_io/npy.h"

#include <gtest/gtest.h>

#include <complex>
#include <string>
#include <vector>

#include "graph/base/error.h"
#include "tests/base/damage.h"
#include "tests/formats/test_files.h"

namespace ampc {
namespace {

constexpr char kGolden[] = "tests/base/golden/";

template <typename T>
std::vector<T> Values(const HostTensor& tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}

TEST(NpyTest, ReadsWhatNumPyWrote) {
  const std::string golden = kGolden;
  EXPECT_EQ(*ReadNpy(golden + "scalar.npy"), HostTensor::Of<float>({}, {2.5f}));
  EXPECT_EQ(*ReadNpy(golden + "empty.npy"), HostTensor::Of<float>({0, 3}, {}));
  EXPECT_EQ(*ReadNpy(golden + "big_endian.npy"), HostTensor::Of<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(*ReadNpy(golden + "version2.npy"), HostTensor::Of<int64_t>({2, 3}, {0, 1, 2, 3, 4, 5}));
  const absl::StatusOr<HostTensor> complex = ReadNpy(golden + "big_endian_complex.npy");
  ASSERT_TRUE(complex.ok());
  EXPECT_EQ(complex->values<std::complex<float>>()[5], std::complex<float>(5, 5));
}

TEST(NpyTest, ReadsColumnMajorArrays) {
  const absl::StatusOr<HostTensor> tensor = ReadNpy(std::string(kGolden) + "fortran.npy");
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  std::vector<int32_t> want(24);
  for (int i = 0; i < 24; ++i) want[i] = i;
  EXPECT_EQ(Values<int32_t>(*tensor), want);
}

TEST(NpyTest, RefusesTypesItDoesNotHave) {
  std::string text = testing::ReadFile(std::string(kGolden) + "uint16.npy");
  text.replace(text.find("<u2"), 3, "<m8");
  const absl::Status status = ParseNpy(text, "a").status();
  EXPECT_EQ(status.message(), "a: npy element type '<m8' is not one of b1, u1, i1, u2, i2, u4, i4, u8, i8, f2, f4, f8, c8, c16, V1, V2");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kUnsupported);
}

TEST(NpyTest, ReadsUnsignedNumbersAndWhatMlDtypesSaves) {
  EXPECT_EQ(*ReadNpy(std::string(kGolden) + "uint16.npy"), HostTensor::Of<uint16_t>({2, 3}, {0, 1, 2, 3, 4, 5}));
  const BFloat16 ramp[] = {BFloat16(0), BFloat16(1), BFloat16(2), BFloat16(3), BFloat16(4), BFloat16(5)};
  EXPECT_EQ(*ReadNpy(std::string(kGolden) + "bfloat16.npy"), HostTensor::FromValues<BFloat16>({2, 3}, ramp));
}

TEST(NpyTest, WritesSmallTypesAsTheNextThatNumPyHas) {
  testing::TempFolder dir;
  ASSERT_TRUE(WriteNpy(dir / "a.npy", HostTensor::Of<Float8E4M3FN>({2}, {Float8E4M3FN(448), Float8E4M3FN(-0.5f)})).ok());
  EXPECT_EQ(*ReadNpy(dir / "a.npy"), HostTensor::Of<float>({2}, {448, -0.5f}));
  absl::StatusOr<HostTensor> small = HostTensor::Create(DType::kI4, {3});
  ASSERT_TRUE(small.ok());
  static_cast<int8_t*>(small->mutable_data())[1] = -8;
  ASSERT_TRUE(WriteNpy(dir / "b.npy", *small).ok());
  EXPECT_EQ(*ReadNpy(dir / "b.npy"), HostTensor::Of<int8_t>({3}, {0, -8, 0}));
}

TEST(NpyTest, WritesTheBytesThatNumPyWrites) {
  testing::TempFolder dir;
  ASSERT_TRUE(WriteNpy(dir / "a.npy", HostTensor::Of<float>({}, {2.5f})).ok());
  EXPECT_EQ(testing::ReadFile(dir / "a.npy"), testing::ReadFile(std::string(kGolden) + "scalar.npy"));
  ASSERT_TRUE(WriteNpy(dir / "a.npy", HostTensor::Of<float>({0, 3}, {})).ok());
  EXPECT_EQ(testing::ReadFile(dir / "a.npy"), testing::ReadFile(std::string(kGolden) + "empty.npy"));
}

TEST(NpyTest, RoundTrips) {
  testing::TempFolder dir;
  for (const HostTensor& tensor :
       {HostTensor::Of<bool>({3}, {true, false, true}), HostTensor::Of<int8_t>({1, 2}, {-1, 2}),
        HostTensor::Of<Half>({2}, {Half(1.5f), Half(-2.0f)}), HostTensor::Of<double>({2, 1, 1}, {1e300, -0.0})}) {
    ASSERT_TRUE(WriteNpy(dir / "a.npy", tensor).ok());
    EXPECT_EQ(*ReadNpy(dir / "a.npy"), tensor);
  }
}

TEST(NpyTest, WritesBFloat16AsFloat) {
  testing::TempFolder dir;
  ASSERT_TRUE(WriteNpy(dir / "a.npy", HostTensor::Of<BFloat16>({2}, {BFloat16(1.5f), BFloat16(-2.0f)})).ok());
  EXPECT_EQ(*ReadNpy(dir / "a.npy"), HostTensor::Of<float>({2}, {1.5f, -2.0f}));
}

// A version 1.0 file with this dictionary and four bytes of data.
std::string FileWith(const std::string& dictionary) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dictionary.size() & 0xff);
  file += static_cast<char>(dictionary.size() >> 8);
  return file + dictionary + "abcd";
}

std::string Error(const std::string& dictionary) { return std::string(ParseNpy(FileWith(dictionary), "x").status().message()); }

TEST(NpyTest, SaysWhatIsWrongWithAHeader) {
  EXPECT_EQ(Error("{'descr': '<i4', 'fortran_order': False, 'shape': (1L,), }\n"), "");
  EXPECT_EQ(Error("{\"shape\":(), \"fortran_order\":True, \"descr\":\"<f4\"}"), "");
  EXPECT_EQ(Error("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }"), "x: i32 array [2] needs 8 bytes of data, found 4");
  EXPECT_EQ(Error("{'descr': '<i2', 'fortran_order': False, 'shape': (), }"), "x: i16 array [] needs 2 bytes of data, found 4");
  EXPECT_EQ(Error("{'descr': '<i4', 'shape': (1,), }"), "x: the npy header has no 'fortran_order'");
  EXPECT_EQ(Error("{'descr': '<i4', 'fortran_order': 0, 'shape': (1,), }"), "x: npy header: found byte 0x30, needs True or False");
  EXPECT_EQ(Error("{'descr': '<i4', 'fortran_order': False, 'shape': (-1,), }"), "x: npy header: found byte 0x2d, needs a dimension");
  EXPECT_EQ(Error("{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
            "x: npy header: found byte 0x39, needs a dimension");
  EXPECT_EQ(Error("{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904,), }"),
            "x: npy shape [4611686018427387904] has more than 2^63 bytes");
  EXPECT_EQ(Error("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), } x"),
            "x: npy header: found byte 0x78, needs the end of the header");
  EXPECT_EQ(Error("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }"),
            "x: a structured npy array is not supported, needs a plain element type");
  EXPECT_EQ(Error("{'other': 1}"), "x: the npy header has a key that is not one of descr, fortran_order, shape");
  EXPECT_EQ(Error("{'descr"), "x: npy header: found byte 0x27, needs a quoted word");
  EXPECT_EQ(ParseNpy("PK", "x").status().message(), "x: is not an npy file, needs the bytes \\x93NUMPY at its start");
  EXPECT_EQ(ParseNpy(absl::string_view("\x93NUMPY\x04\x00\x00\x00\x00\x00", 12), "x").status().message(),
            "x: npy version 4.0, needs 1.0, 2.0 or 3.0");
  EXPECT_EQ(ParseNpy(absl::string_view("\x93NUMPY\x01\x00\x50\x00", 10), "x").status().message(),
            "x: the npy header needs 80 bytes, found 0");
}

TEST(NpyTest, MakesBoolsZeroOrOne) {
  const absl::StatusOr<HostTensor> tensor = ParseNpy(FileWith("{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }"), "x");
  ASSERT_TRUE(tensor.ok());
  for (const std::byte byte : tensor->bytes()) EXPECT_EQ(byte, std::byte{1});
}

TEST(NpyTest, SurvivesEveryDamage) {
  for (const char* name : {"fortran.npy", "big_endian_complex.npy", "version2.npy"}) {
    size_t refused = 0;
    const std::string file = testing::ReadFile(std::string(kGolden) + name);
    ForEachDamage(file, [&](const std::string& content, const std::string& what) {
      const absl::StatusOr<HostTensor> tensor = ParseNpy(content, name);
      if (tensor.ok()) return;
      ++refused;
      ExpectFileError(tensor.status(), name, what);
    });
    EXPECT_GE(refused, file.size()) << "every cut file must be refused";
  }
}

}  // namespace
}  // namespace ampc
