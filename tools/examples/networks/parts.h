// The parts that the networks share. Each Build function writes one network; networks.h lists them.
#pragma once

#include "tools/examples/networks/networks.h"

namespace ampc {

inline constexpr int kClasses = 10;
inline constexpr int kRows = 28;
inline constexpr int kSimpleNetFeatures = 4096;

Value ImageFeed(ProgramBuilder& b);
// Loss and accuracy of the logits of images `x`.
Network Classify(ProgramBuilder& b, Value x, Value logits);

Network BuildGuarded(ProgramBuilder& b);
Network BuildLeNet(ProgramBuilder& b);
Network BuildResNet18(ProgramBuilder& b);
Network BuildLstm(ProgramBuilder& b);
Network BuildTransformer(ProgramBuilder& b);

}  // namespace ampc
