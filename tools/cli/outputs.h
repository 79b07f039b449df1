// Which files a model on the command line stands for, and whether a command may write where it was told to.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ampc {

// The file where the weights of `model` lie when nothing else is said, "" for a folder or an unknown ending. An ONNX model that ampc wrote has one
// only where its weights are too large to be in the model.
std::string WeightsBeside(const std::string& model);

// The program's file and the one with its weights; `params` is where the user says that these are, "" for beside the program.
std::vector<std::string> ModelFiles(const std::string& model, const std::string& params);

// Before any work is done: no output is one of the inputs or another output (usage error), and each can be created (I/O error).
// Empty names are skipped, inputs need not exist.
absl::Status CheckOutputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

}  // namespace ampc
