// The entry `ampc_undo` of a model's metadata_props: what `ampc strip` needs to give the original back.
//
//   1;opset=11;PLACES MARKS;PLACES MARKS;...      ';', '%' and line ends inside MARKS are written %XX
//
// MARKS of a node are those of graph/formats/marks.h, behind `node=BASE64;` where an attribute became an operand when the operator set was
// upgraded: the NodeProto as it was. A local function of the model that was upgraded has the same entry with its FunctionProto. Nodes that
// stand around such a node, and were not there before, have `made` in front. For values `was=f32`, and `form=N` of a constant that was
// stored in the field N of its TensorProto (4 float_data, 10 double_data) or in the attribute value_float (-2) or value_floats (-7) of its
// Constant node; `at=OFFSET` of one in the one file with external data, with `o` or `l` behind where the model did not say offset or
// length; `size=BYTES` of that file. PLACES name nodes and values by their places in the file, so that names cost nothing: `o3` node 3,
// `n3` its first result, `n3.1` its second result, `i3` initializer 3, `p3` graph input 3, `f3` function 3; `n3-9` is n3 to n9; joined by
// ','. A leading `g2:` says that all of them belong to graph 2: graphs are counted from 0, the model's own, depth first in file order.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"

namespace ampc::onnx {

inline constexpr absl::string_view kUndoKey = "ampc_undo";

// The position of a node, value or function in an ONNX file.
struct Location {
  char section = 0;  // o n i p f as above
  int graph = 0;
  int sub = 0;  // which result of a node
  int index = 0;
  friend auto operator<=>(const Location&, const Location&) = default;
};

class Undo {
 public:
  // Each place once; in ascending order of the index within a section is shortest.
  void Add(const Location& location, absl::string_view marks);
  // The operator set that the file had; 0 for unchanged.
  void set_opset(int opset) { opset_ = opset; }
  int opset() const { return opset_; }
  // After Decode: the file says something.
  bool found() const { return opset_ != 0 || !ranges_.empty(); }
  bool empty() const { return opset_ == 0 && by_marks_.empty(); }
  std::string Encode() const;

  // Ignores entries that it does not understand.
  static Undo Decode(absl::string_view text);
  // "" for none.
  absl::string_view Find(const Location& location) const;

 private:
  int opset_ = 0;
  struct Span {  // as one item of PLACES
    Location first;
    int last = 0;
  };
  std::map<std::string, std::map<int, std::vector<Span>>, std::less<>> by_marks_;  // by graph

  struct Range {  // after Decode
    Span places;
    std::string marks;
  };
  std::vector<Range> ranges_;  // by first
};

// Marks of a node with its original in front, and the original of such marks; "" for none.
std::string WithOriginalNode(absl::string_view node, absl::string_view marks);
std::string OriginalNode(absl::string_view marks);

// Marks of a node that an operator set made, and whether marks are such.
std::string AsMade(absl::string_view marks);
bool IsMade(absl::string_view marks);

// Marks of a value.
struct ValueMarks {
  DType was = DType::kInvalid;
  int form = 0;  // 0 for none
  struct External {
    uint64_t offset = 0;
    bool has_offset = true, has_length = true;
    uint64_t size = 0;  // of the file; 0 where it ends with its last value
  };
  std::optional<External> at = {};
};
std::string EncodeValueMarks(const ValueMarks& marks);
ValueMarks DecodeValueMarks(absl::string_view text);

}  // namespace ampc::onnx
