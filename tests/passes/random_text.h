// RandomText: a program in text form that a test writes op by op, with its choices.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace ampc::testing {

// A program as it grows: declarations, then ops.
class RandomText {
 public:
  explicit RandomText(std::mt19937& random) : random_(random) {}

  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool Coin() { return Pick(2) == 0; }
  std::string Of(std::vector<std::string> any) { return any[static_cast<size_t>(Pick(static_cast<int>(any.size())))]; }

  std::string Param(const std::vector<int>& dims, absl::string_view prefix = "p") {
    const std::string name = absl::StrCat(prefix, "_", ++names_);
    absl::StrAppend(&head_, "param ", name, Type(dims), "\n");
    return name;
  }
  std::string Number() {
    const std::string name = absl::StrCat("k_", ++names_);
    absl::StrAppend(&head_, "const ", name, " : f32 [1] = [", 1 + Pick(4), ".5]\n");
    return name;
  }
  void Feed(const std::string& name, const std::vector<int>& dims) { absl::StrAppend(&head_, "feed ", name, Type(dims), "\n"); }
  // A new value: `op` and its operands, attributes.
  std::string Op(absl::string_view call, absl::string_view attrs, const std::vector<int>& dims) {
    const std::string name = absl::StrCat("t_", ++names_);
    absl::StrAppend(&body_, name, " = ", call, " ", attrs, Type(dims), "\n");
    return name;
  }
  // A carry that begins as `value`.
  std::string Carry(const std::string& value, const std::vector<int>& dims) {
    const std::string name = absl::StrCat("c_", ++names_);
    absl::StrAppend(&head_, "carry ", name, Type(dims), "\n");
    Overwrite(name, absl::StrCat("assign(", value, ")"), "");
    return name;
  }
  void Overwrite(const std::string& carry, absl::string_view call, absl::string_view attrs) {
    absl::StrAppend(&body_, carry, " <- ", call, " ", attrs, "\n");
  }
  void Fetch(const std::string& name) {
    if (std::find(fetches_.begin(), fetches_.end(), name) == fetches_.end()) fetches_.push_back(name);
  }
  std::string Whole() const { return absl::StrCat(head_, body_, "fetch ", absl::StrJoin(fetches_, ", "), "\n"); }

 private:
  static std::string Type(const std::vector<int>& dims) { return absl::StrCat(" : f32 [", absl::StrJoin(dims, ", "), "]"); }

  std::mt19937& random_;
  std::string head_, body_;
  std::vector<std::string> fetches_;
  int names_ = 0;
};

}  // namespace ampc::testing
