// The element-wise ops: which functor each is, with which parameters, for which types.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/op.h"
#include "kernels/common/binary_math.h"
#include "kernels/common/functor_ids.h"
#include "kernels/common/logic_functors.h"

namespace ampc {

// A parameter of a functor: the name of its attribute, null for `fixed` alone, and its value without the attribute.
struct Parameter {
  const char* name = nullptr;
  double fixed = 0;
};

// Maps of one operand whose parameters are attributes.
struct UnaryRow {
  const char* op;
  functors::UnaryOp functor;
  Parameter a = {}, b = {}, c = {};
};
absl::Span<const UnaryRow> UnaryRows();
// Null for an op that is none; the functor of gelu depends on an attribute.
const UnaryRow* FindUnary(const Op& op);
functors::UnaryOp FunctorOf(const UnaryRow& row, const Op& op);
functors::Params<double> ParamsOf(const UnaryRow& row, const Op& op);
// Whether integers have the functor, too: an arithmetic that wraps, with parameters toward zero.
bool HasIntegers(functors::UnaryOp functor);
// The functor of `pow` of floats with an exponent that is known: those that need no power function have their own.
// kScaleThenBias is x * 1 + -0.
functors::UnaryOp PowerFunctor(double exponent);

// Maps of two broadcast operands of one type.
struct BinaryRow {
  const char* op;
  Op2 functor;
};
absl::Span<const BinaryRow> BinaryRows();
const BinaryRow* FindBinary(const Op& op);
std::vector<DType> TypesOf(const BinaryRow& row);

#define AMPC_ENUM(name) k##name,
enum class LogicOp : uint8_t { AMPC_COMPARISONS(AMPC_ENUM) AMPC_BIT_FUNCTORS(AMPC_ENUM) AMPC_TRUTH_FUNCTORS(AMPC_ENUM) kBitNot };
#undef AMPC_ENUM
struct LogicRow {
  const char* op;
  LogicOp functor;
};
absl::Span<const LogicRow> LogicRows();
const LogicRow* FindLogic(const Op& op);
std::vector<DType> TypesOf(const LogicRow& row);

// Gradients of maps of one operand: a function of X or Out and of the gradient of Out.
struct UnaryGradientRow {
  const char* op;
  functors::UnaryGradient functor;
  Parameter a = {}, b = {}, c = {};
};
absl::Span<const UnaryGradientRow> UnaryGradientRows();
const UnaryGradientRow* FindUnaryGradient(const Op& op);
functors::UnaryGradient FunctorOf(const UnaryGradientRow& row, const Op& op);
functors::Params<double> ParamsOf(const UnaryGradientRow& row, const Op& op);
// Ops whose gradient is 0 wherever it exists.
absl::Span<const char* const> FlatGradients();
// The functor of pow_grad, for a factor that is known.
functors::UnaryGradient PowerGradient(double factor);

// Gradients of the ops of BinaryRows, by each operand; prelu, whose shapes are PreluShape, is beside them.
struct BinaryGradientRow {
  const char* op;
  functors::RowGradient of_x, of_y;
  const char *x = "X", *y = "Y";  // slots
};
absl::Span<const BinaryGradientRow> BinaryGradientRows();
const BinaryGradientRow* FindBinaryGradient(const Op& op);
inline constexpr BinaryGradientRow kPreluGradient = {"prelu_grad", functors::RowGradient::kPreluGradX, functors::RowGradient::kPreluGradY,
                                                     "X", "Alpha"};

// prelu: X as outer x slopes x inner elements.
struct PreluShape {
  int64_t outer = 1, slopes = 1, inner = 1;
};
PreluShape PreluShapeOf(const Op& op, absl::Span<const int64_t> x);

// dropout: what an element that is kept is multiplied by, at training and, `is_test`, for all elements.
double DropoutFactor(const Op& op);

}  // namespace ampc
