// What kinds of function ops are, whatever their dialect: an op of ONNX's counts as the native op that means the same, and by its own type.
#pragma once

#include <cstdint>

#include "graph/op.h"

namespace ampc {

enum class OpKind : uint32_t {
  kLog = 1 << 0,
  kSteepAtZero = 1 << 1,   // an operand that a low type rounds to zero or to few bits ruins the result: 1 / x, log, x^y
  kReciprocal = 1 << 16,   // of those: 1 / x, and 1 over its root
  kDivision = 1 << 17,     // of two operands
  kAffine = 1 << 18,       // of one operand, with attributes scale and bias
  kBounded = 1 << 2,       // however large the operand, the result is in range
  kNormalized = 1 << 3,    // of those: the result has a size of its own, the operand's does not show
  kSelection = 1 << 4,     // min, max, clip
  kSum = 1 << 5,           // adds or averages many elements
  kShapeReader = 1 << 6,
  kProduct = 1 << 7,       // of two operands
  kPower = 1 << 8,
  kRoot = 1 << 9,          // brings a square back to the size of its operand
  kAdditive = 1 << 10,     // a sum or difference of two operands, or one of them
  kExtremum = 1 << 11,     // the largest or smallest of many elements
  kExp = 1 << 12,
  kArithmetic = 1 << 20,   // sums, differences, products and quotients, element by element: an error of an operand is one of the result
  kTurns = 1 << 21,        // of an angle: whole turns do not show in the result
  kRemainder = 1 << 22,    // of a division, element by element
  kWhole = 1 << 23,        // rounds to whole numbers
  kRunning = 1 << 24,      // running sums
  kHandsOn = 1 << 25,      // moves a value through control flow
  kRectifier = 1 << 26,    // a network's function that keeps a value or replaces it by a bound
  kLoss = 1 << 28,         // of each row or place, by a label
  kSampler = 1 << 27,      // reads an image at the places that its second operand names
  kChooser = 1 << 29,      // chooses among candidates by their places and scores
};

// All kinds of a record: a sum of OpKind.
uint32_t KindsOf(const OpDef& def);

bool Is(const Op& op, OpKind kind);

}  // namespace ampc
