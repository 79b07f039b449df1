#include "graph/formats/tensor_io/safetensors.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "graph/base/error.h"
#include "tests/base/damage.h"
#include "tests/formats/test_files.h"

namespace ampc {
namespace {

constexpr char kGolden[] = "tests/base/golden/mixed.safetensors";

template <typename T>
HostTensor Ramp() {
  return HostTensor::Of<T>({2, 3}, {T(0), T(1), T(2), T(3), T(4), T(5)});
}

TEST(SafetensorsReader, ReadsWhatSafetensorsWrote) {
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(kGolden);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->entries().size(), 13u);
  EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"format", "np"}, {"note", "a \"quoted\" word"}}));
  EXPECT_EQ(*file->Load("bool"), HostTensor::Of<bool>({2, 3}, {false, true, false, true, false, true}));
  EXPECT_EQ(*file->Load("uint8"), Ramp<uint8_t>());
  EXPECT_EQ(*file->Load("int8"), Ramp<int8_t>());
  EXPECT_EQ(*file->Load("int16"), Ramp<int16_t>());
  EXPECT_EQ(*file->Load("uint16"), Ramp<uint16_t>());
  EXPECT_EQ(*file->Load("int32"), Ramp<int32_t>());
  EXPECT_EQ(*file->Load("int64"), Ramp<int64_t>());
  EXPECT_EQ(*file->Load("float16"), Ramp<Half>());
  EXPECT_EQ(*file->Load("bfloat16"), Ramp<BFloat16>());
  EXPECT_EQ(*file->Load("float32"), Ramp<float>());
  EXPECT_EQ(*file->Load("float64"), Ramp<double>());
  EXPECT_EQ(*file->Load("scalar"), HostTensor::Of<float>({}, {2.5f}));
  EXPECT_EQ(*file->Load("empty"), HostTensor::Of<float>({0, 3}, {}));
}

TEST(SafetensorsReader, LoadErrors) {
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(kGolden);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->Load("flaot32").status().message(), std::string(kGolden) + ": has no tensor 'flaot32', did you mean 'float32'?");
  EXPECT_EQ(ExitCodeOf(file->Load("flaot32").status()), ExitCode::kBadInput);
}

TEST(SafetensorsReader, NamesTheTypesItDoesNotHave) {
  testing::TempFolder dir;
  const std::string header = R"({"a":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})";
  const std::string path = dir / "a.safetensors";
  testing::WriteFile(path, std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + "abc");
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Load("a").status().message(), path +
                                                    ": tensor 'a': dtype F6_E2M3 is not one of BOOL, U8, I8, U16, I16, U32, I32, U64, I64, "
                                                    "F8_E4M3, F8_E5M2, F8_E8M0, F4, F16, BF16, F32, F64, C64");
  EXPECT_EQ(ExitCodeOf(file->Load("a").status()), ExitCode::kUnsupported);
}

TEST(SafetensorsWriter, SmallFloatsAndUnsignedNumbersReadBack) {
  testing::TempFolder dir;
  std::map<std::string, HostTensor> tensors;
  tensors["u16"] = Ramp<uint16_t>();
  tensors["u32"] = Ramp<uint32_t>();
  tensors["u64"] = HostTensor::Of<uint64_t>({1}, {~uint64_t{0}});
  tensors["e4"] = HostTensor::Of<Float8E4M3FN>({1}, {Float8E4M3FN(2)});
  tensors["e5"] = HostTensor::Of<Float8E5M2>({1}, {Float8E5M2(2)});
  tensors["e8"] = HostTensor::Of<ScaleFloat>({1}, {ScaleFloat(2)});
  tensors["f4"] = HostTensor::Of<Float4E2M1>({3}, {Float4E2M1(1), Float4E2M1(-6), Float4E2M1(0.5f)});
  ASSERT_TRUE(WriteSafetensors(dir / "a.safetensors", tensors).ok());
  EXPECT_EQ(*ReadSafetensors(dir / "a.safetensors"), tensors);
}

TEST(SafetensorsReader, SurvivesEveryDamage) {
  size_t refused = 0;
  const std::string whole = testing::ReadFile(kGolden);
  ForEachDamage(whole, [&](const std::string& content, const std::string& what) {
    const absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(content, "a");
    if (!header.ok()) {
      ++refused;
      return ExpectFileError(header.status(), "a", what);
    }
    for (const SafetensorsEntry& entry : header->entries) {
      EXPECT_LE(entry.offset, content.size()) << what;
      EXPECT_LE(entry.bytes, content.size() - entry.offset) << what;
    }
  });
  EXPECT_GT(refused, whole.size()) << "every cut file and many changed ones must be refused";
}

// The error for a file with this header and `data` behind it, without the path at its start.
std::string Error(const std::string& header, const std::string& data = "abcd") {
  std::string content;
  for (int i = 0; i < 8; ++i) content.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  const absl::Status status = ParseSafetensorsHeader(content + header + data, "x").status();
  if (status.ok()) return "ok";
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadInput);
  return std::string(status.message().substr(3));
}

TEST(SafetensorsReader, SaysWhatIsWrongWithAHeader) {
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}   )"), "ok");
  EXPECT_EQ(Error("{}", ""), "ok");
  EXPECT_EQ(Error("[]"), "the safetensors header is not a JSON object");
  EXPECT_EQ(Error("{"), "safetensors header: byte 1: found the end of the text, needs '\"' of a key");
  EXPECT_EQ(Error("{}"), "has 4 bytes of data, its tensors need 0");
  EXPECT_EQ(Error(R"({"a":1})"), "tensor 'a': has no text 'dtype'");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32"}})"), "tensor 'a': has no list 'shape'");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[1]}})"), "tensor 'a': has no 'data_offsets' of two numbers");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})"),
            "tensor 'a': has a dimension that is not a whole number from 0 up");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})"), "tensor 'a': its dtype 'F99' is not one of the format");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})"),
            "tensor 'a': F32 [2] needs 8 bytes, its data_offsets hold 4");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
            "tensor 'a': its data end at byte 8, the file has 4 bytes of data");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})"), "tensor 'a': its data_offsets are not a range");
  EXPECT_EQ(Error(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,4]}})"),
            "tensor 'a': its shape [4611686018427387904] has more than 2^63 bytes");
  EXPECT_EQ(Error(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})"),
            "tensor 'b': begins at byte 1 of the data, needs 2, where the tensor before it ends");
  EXPECT_EQ(Error(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})"),
            "tensor 'a': begins at byte 1 of the data, needs 0, where the tensor before it ends");
  EXPECT_EQ(Error(R"({"__metadata__":{"a":1}})", ""), "'__metadata__' holds a number, needs only strings");
}

TEST(SafetensorsReader, RefusesAHugeHeaderLength) {
  EXPECT_EQ(ParseSafetensorsHeader(std::string(8, '\xff'), "x").status().message(),
            "x: is not a safetensors file: its header would have 18446744073709551615 bytes, the file has 8");
}

TEST(SafetensorsWriterTest, StreamsAnyPiecesAndReadsBack) {
  testing::TempFolder dir;
  const std::vector<SafetensorsWriter::Spec> specs = {{"small", DType::kBool, {3}}, {"b", DType::kF32, {2, 3}}, {"a", DType::kF32, {1}}};
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(dir / "x", specs, {{"k", "v"}}, {});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_EQ(writer->entries().size(), 3u);
  EXPECT_EQ(writer->entries()[0].name, "b");
  EXPECT_EQ(writer->entries()[1].name, "a");
  EXPECT_EQ(writer->entries()[2].name, "small");
  EXPECT_EQ(writer->entries()[0].offset % 64, 0u);
  const HostTensor b = Ramp<float>(), a = HostTensor::Of<float>({1}, {7}), small = HostTensor::Of<bool>({3}, {true, false, true});
  ASSERT_TRUE(writer->Append(b.bytes().subspan(0, 5)).ok());
  ASSERT_TRUE(writer->Append(b.bytes().subspan(5)).ok());
  ASSERT_TRUE(writer->Append(a.bytes()).ok());
  ASSERT_TRUE(writer->Append(small.bytes()).ok());
  const std::vector<SafetensorsEntry> entries = writer->entries();
  ASSERT_TRUE(writer->Commit().ok());

  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(dir / "x");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata().at("k"), "v");
  EXPECT_EQ(*file->Load("a"), a);
  EXPECT_EQ(*file->Load("b"), b);
  EXPECT_EQ(*file->Load("small"), small);
  for (const SafetensorsEntry& entry : entries) EXPECT_EQ(file->Find(entry.name)->offset, entry.offset) << entry.name;
}

TEST(SafetensorsWriterTest, WholeFilesRoundTripDeterministically) {
  testing::TempFolder dir;
  const std::map<std::string, HostTensor> tensors = {
      {"x \"\n\xc3\xa9", Ramp<BFloat16>()}, {"scalar", HostTensor::Of<double>({}, {1})}, {"empty", HostTensor::Of<float>({0, 2}, {})}};
  ASSERT_TRUE(WriteSafetensors(dir / "a", tensors).ok());
  EXPECT_EQ(*ReadSafetensors(dir / "a"), tensors);
  ASSERT_TRUE(WriteSafetensors(dir / "b", tensors).ok());
  EXPECT_EQ(testing::ReadFile(dir / "a"), testing::ReadFile(dir / "b"));
}

TEST(SafetensorsWriterTest, RefusesWhatTheFormatCannotHold) {
  testing::TempFolder dir;
  const auto error = [&](std::vector<SafetensorsWriter::Spec> specs) {
    return SafetensorsWriter::Create(dir / "x", specs, {}, {}).status();
  };
  EXPECT_EQ(error({{"a", DType::kF32, {1}}, {"a", DType::kF16, {1}}}).message(), dir / "x" + ": two tensors have the name 'a'");
  EXPECT_EQ(error({{"a", DType::kC128, {1}}}).message(), dir / "x" + ": tensor 'a': safetensors has no type for c128");
  EXPECT_EQ(ExitCodeOf(error({{"a", DType::kF32, {-1}}})), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(error({{"__metadata__", DType::kF32, {1}}})), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(error({{"\xff", DType::kF32, {1}}})), ExitCode::kUsage);
}

TEST(SafetensorsWriterTest, CommitNeedsAllBytes) {
  testing::TempFolder dir;
  absl::StatusOr<SafetensorsWriter> writer = SafetensorsWriter::Create(dir / "x", {{"a", DType::kU8, {3}}}, {}, {});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append(HostTensor::Of<uint8_t>({2}, {1, 2}).bytes()).ok());
  EXPECT_EQ(ExitCodeOf(writer->Commit()), ExitCode::kInternal);
}

}  // namespace
}  // namespace ampc
