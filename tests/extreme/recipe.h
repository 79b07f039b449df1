// An op's operands and attributes when nothing is odd.
#pragma once

#include <string>
#include <vector>

#include "graph/base/host_tensor.h"
#include "tests/extreme/choices.h"
#include "tests/extreme/odd_model.h"

namespace ampc::extreme {

// Operands of the line of recipes.inc that holds for the op, and its attributes; false where there is none. Types are chosen by the caller
// before: one element per slot.
bool FromRecipe(const std::vector<DType>& types, OddModel* model);
// Operands by the names of the slots.
void FromNames(const std::vector<DType>& types, Choices& choices, OddModel* model);

// The element as the tensor's type has it: floats are rounded, integers cut.
void SetElement(HostTensor* tensor, int64_t index, double value);
void SetElement(HostTensor* tensor, int64_t index, int64_t value);
// An attribute of the alternative `like`, from text such as "1,2".
AttrValue ParseAttr(const AttrValue& like, const std::string& text);

}  // namespace ampc::extreme
