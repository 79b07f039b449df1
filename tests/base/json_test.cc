#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "graph/base/error.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "graph/base/utf8.h"

namespace ampc {
namespace {

std::string Document(JsonWriter::Style style) {
  JsonWriter json(style);
  json.BeginObject().Field("a", 1).Field("s", "x").Key("list").BeginArray().Int(1).Null().BeginObject().EndObject().EndArray();
  json.Key("dims").Ints({1, 3, -1}).Field("ok", true).Field("d", 0.5).EndObject();
  return json.Take();
}

TEST(JsonWriterTest, InlineStyle) {
  EXPECT_EQ(Document(JsonWriter::kInline), R"({"a":1,"s":"x","list":[1,null,{}],"dims":[1,3,-1],"ok":true,"d":0.5})");
}

TEST(JsonWriterTest, IndentedStyle) {
  EXPECT_EQ(Document(JsonWriter::kIndented), R"({
  "a": 1,
  "s": "x",
  "list": [
    1,
    null,
    {}
  ],
  "dims": [1, 3, -1],
  "ok": true,
  "d": 0.5
})");
}

TEST(JsonWriterTest, EscapesStrings) {
  EXPECT_EQ(JsonQuote("a\"b\\c\n\t\r\x01/\x7f"), R"("a\"b\\c\n\t\r\u0001/\u007f")");
  EXPECT_EQ(JsonQuote("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\"");
  EXPECT_EQ(JsonQuote("a\xff\xc3"), "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(JsonQuote(std::string(1, '\0')), R"("\u0000")");
  EXPECT_EQ(JsonQuote("\xc2\x85\xc2\x9f"), R"("\u0085\u009f")");
}

TEST(JsonWriterTest, NumbersReadBack) {
  const auto text = [](double value) { return JsonWriter().Double(value).Take(); };
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(-0.0), "-0");
  EXPECT_EQ(text(1e300), "1e+300");
  EXPECT_EQ(text(NAN), "\"nan\"");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "\"-inf\"");
  EXPECT_EQ(JsonWriter().Float(0.1f).Take(), "0.1");
  for (const double value : {1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789012345680.0}) {
    EXPECT_EQ(ParseJson(text(value))->AsDouble(), value);
  }
  EXPECT_EQ(ParseJson(JsonWriter().Int(std::numeric_limits<int64_t>::min()).Take())->AsInt(), std::numeric_limits<int64_t>::min());
}

TEST(JsonReaderTest, ReadsEveryKind) {
  const absl::StatusOr<JsonValue> value = ParseJson(" {\"a\" : [1, -2.5e3, true, false, null, \"x\"], \"b\": {}, \"\": []} \n");
  ASSERT_TRUE(value.ok()) << value.status();
  const JsonValue* a = value->Find("a");
  ASSERT_NE(a, nullptr);
  ASSERT_EQ(a->items.size(), 6u);
  EXPECT_EQ(a->items[0].AsInt(), 1);
  EXPECT_EQ(a->items[1].AsInt(), std::nullopt);
  EXPECT_EQ(a->items[1].AsDouble(), -2500.0);
  EXPECT_TRUE(a->items[2].boolean);
  EXPECT_FALSE(a->items[3].boolean);
  EXPECT_TRUE(a->items[4].Is(JsonValue::Kind::kNull));
  EXPECT_EQ(a->items[5].text, "x");
  EXPECT_EQ(value->Find("c"), nullptr);
  EXPECT_TRUE(value->Find("")->Is(JsonValue::Kind::kArray));
}

TEST(JsonReaderTest, DecodesEscapes) {
  EXPECT_EQ(ParseJson(R"("\"\\\/\b\f\n\r\tA\u00e9\u20AC\ud83d\ude00")")->text, "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  // The last and the first of each length in UTF-8.
  EXPECT_EQ(ParseJson(R"("\u007f\u0080\u07ff\u0800\uffff\ud800\udc00\udbff\udfff")")->text,
            "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}

TEST(JsonReaderTest, WriterOutputReadsBack) {
  std::string all;
  for (int c = 0; c < 128; ++c) all.push_back(static_cast<char>(c));
  EXPECT_EQ(ParseJson(JsonQuote(all))->text, all);
}

std::string Error(absl::string_view text) {
  const absl::StatusOr<JsonValue> value = ParseJson(text);
  if (value.ok()) return "ok";
  EXPECT_EQ(ExitCodeOf(value.status()), ExitCode::kBadInput);
  return std::string(value.status().message());
}

TEST(JsonReaderTest, RefusesMalformedText) {
  EXPECT_EQ(Error(""), "byte 0: found the end of the text, needs a value");
  EXPECT_EQ(Error("{\"a\" 1}"), "byte 5: found '1', needs ':'");
  EXPECT_EQ(Error("{\"a\":1,}"), "byte 7: found '}', needs '\"' of a key");
  EXPECT_EQ(Error("[1,]"), "byte 3: found ']', needs a value");
  EXPECT_EQ(Error("[1 2]"), "byte 3: found '2', needs ',' or ']'");
  EXPECT_EQ(Error("[1] x"), "byte 4: found 'x', needs the end");
  EXPECT_EQ(Error("01"), "byte 1: found '1', needs the end");
  EXPECT_EQ(Error("1."), "byte 2: found the end of the text, needs a digit");
  EXPECT_EQ(Error("1e+"), "byte 3: found the end of the text, needs a digit");
  EXPECT_EQ(Error("-"), "byte 1: found the end of the text, needs a digit");
  EXPECT_EQ(Error("+1"), "byte 0: found '+', needs a value");
  EXPECT_EQ(Error("nul"), "byte 0: found 'n', needs 'null'");
  EXPECT_EQ(Error("\"a"), "byte 2: found the end of the text, needs a character of a string or '\"'");
  EXPECT_EQ(Error("\"\n\""), "byte 1: found byte 0x0a, needs a character of a string or '\"'");
  EXPECT_EQ(Error("\"\\x\""), "byte 2: found 'x', needs an escape letter");
  EXPECT_EQ(Error("\"\\u12g4\""), "byte 5: found 'g', needs a hexadecimal digit");
  EXPECT_EQ(Error("\"\\ud800\""), "byte 7: found '\"', needs the second half of a surrogate pair");
  EXPECT_EQ(Error("\"\xff\""), "byte 1: found byte 0xff, needs a character of a string or '\"'");
  EXPECT_EQ(Error("{\"a\":1,\"b\":2,\"a\":3}"), "byte 19: the object that ends here has the key 'a' twice");
  EXPECT_EQ(Error(absl::string_view("\0", 1)), "byte 0: found byte 0x00, needs a value");
}

TEST(JsonReaderTest, RefusesDeepNestingInsteadOfOverflowingTheStack) {
  EXPECT_EQ(Error(std::string(1000000, '[')), "byte 101: nested deeper than 100 levels");
  EXPECT_EQ(Error(std::string(100, '[') + std::string(100, ']')), "ok");
}

TEST(Utf8, AcceptsOnlyWellFormedSequences) {
  EXPECT_EQ(Utf8Length("a"), 1u);
  EXPECT_EQ(Utf8Length("\xc2\x80"), 2u);
  EXPECT_EQ(Utf8Length("\xe0\xa0\x80"), 3u);
  EXPECT_EQ(Utf8Length("\xf4\x8f\xbf\xbf"), 4u);
  for (const char* bad : {"", "\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "\xe2\x82"}) {
    EXPECT_EQ(Utf8Length(bad), 0u) << bad;
  }
  EXPECT_TRUE(IsUtf8("a\xc3\xa9"));
  EXPECT_FALSE(IsUtf8("a\xc3"));
}

}  // namespace
}  // namespace ampc
