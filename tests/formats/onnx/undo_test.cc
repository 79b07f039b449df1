// The entry in which a converted model says how to take the conversion back.
#include "graph/formats/onnx/undo.h"

#include <gtest/gtest.h>

namespace ampc::onnx {
namespace {

TEST(OnnxUndo, PlacesAreRanges) {
  Undo undo;
  EXPECT_TRUE(undo.empty());
  for (const int i : {0, 1, 2, 5}) undo.Add({.section = 'n', .index = i}, "was=f32");
  undo.Add({.section = 'n', .sub = 1, .index = 3}, "was=f32");
  undo.Add({.section = 'i', .graph = 2, .index = 7}, "was=f32");
  undo.Add({.section = 'o', .index = 4}, "fp32=a;b%");
  undo.Add({.section = 'o', .index = 5}, "");
  undo.set_opset(11);
  const std::string text = undo.Encode();
  EXPECT_EQ(text, "1;opset=11;o4 fp32=a%3bb%25;n0-2,n5,n3.1 was=f32;g2:i7 was=f32");
  const Undo back = Undo::Decode(text);
  EXPECT_EQ(back.opset(), 11);
  EXPECT_EQ(back.Find({.section = 'n', .index = 1}), "was=f32");
  EXPECT_EQ(back.Find({.section = 'n', .index = 3}), "");
  EXPECT_EQ(back.Find({.section = 'n', .sub = 1, .index = 3}), "was=f32");
  EXPECT_EQ(back.Find({.section = 'i', .graph = 2, .index = 7}), "was=f32");
  EXPECT_EQ(back.Find({.section = 'i', .index = 7}), "");
  EXPECT_EQ(back.Find({.section = 'o', .index = 4}), "fp32=a;b%");
}

TEST(OnnxUndo, NonsenseIsIgnored) {
  for (const char* text : {"", "2;n0 was=f32", "1;;;", "1;n was", "1;g:n0 x", "1;n5-2 x", "1;n99999999999 x", "1;opset=x"}) {
    EXPECT_EQ(Undo::Decode(text).Find({.section = 'n', .index = 3}), "") << text;
  }
  EXPECT_EQ(Undo::Decode("1;n0-2147483647 x").Find({.section = 'n', .index = 3}), "x");
}

TEST(OnnxUndo, ValueMarks) {
  const std::string text = EncodeValueMarks({.was = DType::kF32, .form = -2});
  EXPECT_EQ(text, "was=f32 form=-2");
  EXPECT_EQ(DecodeValueMarks(text).was, DType::kF32);
  EXPECT_EQ(DecodeValueMarks(text).form, -2);
  EXPECT_EQ(EncodeValueMarks({}), "");
  EXPECT_EQ(DecodeValueMarks("was=what form=x").was, DType::kInvalid);
}

}  // namespace
}  // namespace ampc::onnx
