#include "graph/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace ampc {
namespace {

// A code point in so many bytes, as short as it has to be or longer.
std::string Encoded(uint32_t code, size_t bytes) {
  if (bytes == 1) return std::string(1, static_cast<char>(code));
  std::string out;
  for (size_t i = 0; i + 1 < bytes; ++i, code >>= 6) out.insert(out.begin(), static_cast<char>(0x80 | (code & 0x3f)));
  const uint32_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  out.insert(out.begin(), static_cast<char>(lead[bytes] | code));
  return out;
}

size_t ShortestLength(uint32_t code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

TEST(Utf8, EveryCodePointHasOneFormAndSurrogatesHaveNone) {
  for (uint32_t code = 0; code < 0x200000; ++code) {
    const size_t length = ShortestLength(code);
    const bool valid = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    const std::string text = Encoded(code, length);
    ASSERT_EQ(Utf8Length(text), valid ? length : 0) << code;
    ASSERT_EQ(Utf8Length(text + "x"), valid ? length : 0) << code;
    if (length > 1) {
      ASSERT_EQ(Utf8Length(text.substr(0, length - 1)), 0u) << code;
    }
    if (length < 4) {
      ASSERT_EQ(Utf8Length(Encoded(code, length + 1)), 0u) << code;
    }
  }
}

TEST(Utf8, ABadByteAnywhereIsSeen) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"));
  for (int byte = 0x80; byte < 0x100; ++byte) EXPECT_FALSE(IsUtf8(std::string("a") + static_cast<char>(byte))) << byte;
  EXPECT_FALSE(IsUtf8("\xe2\x28\xac"));
  EXPECT_FALSE(IsUtf8("\xf0\x9f\x98\x28"));
}

TEST(Utf8, ControlCharactersAreThoseOfBothBlocks) {
  for (uint32_t code = 0; code < 0x110; ++code) {
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const std::string text = Encoded(code, ShortestLength(code));
    EXPECT_EQ(ControlLength(text + "b"), control ? text.size() : 0u) << code;
    EXPECT_EQ(Printable("a" + text + "b") == "a" + text + "b", !control) << code;
    EXPECT_EQ(PrintableLines("a" + text + "b") == "a" + text + "b", !control || code == '\n' || code == '\t') << code;
  }
  EXPECT_EQ(Printable("a\nb\tc\x1b[0m\xc2\x85"), "a\\x0ab\\x09c\\x1b[0m\\x85");
  EXPECT_EQ(PrintableLines("a\nb\tc\x1b[0m"), "a\nb\tc\\x1b[0m");
  EXPECT_EQ(ControlLength(""), 0u);
}

TEST(Utf8, ADocumentHasWhatXmlAllows) {
  EXPECT_EQ(DocumentText("a\nb\tc"), "a\nb\tc");
  EXPECT_EQ(DocumentText("a\x01z\xff\xef\xbf\xbe"), "a\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(DocumentText("\xe2\x82\xac"), "\xe2\x82\xac");
}

}  // namespace
}  // namespace ampc
