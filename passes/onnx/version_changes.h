// How a node of one version of an ONNX operator becomes one of a later version with the same meaning.
#pragma once

#include "passes/onnx/node_draft.h"

namespace ampc {

// Takes the node through the versions of its operator up to that of operator set `opset`. False, and the draft is of no use, where some
// step changes what the node means, or the operator is gone and nothing took its place.
//
// A step that only allows more (types, optional operands, attributes with defaults) changes no node; an attribute whose default is another
// one is written out. The table in version_changes.cc says what else a step does.
bool UpgradeNode(NodeDraft& node, int opset);

}  // namespace ampc
