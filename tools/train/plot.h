// The picture of `ampc train --plot`: loss, accuracy and loss scale over the steps, one line per run.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ampc {

struct TrainingCurve {
  std::string name;                                 // "O2 fp16"
  std::vector<std::pair<double, double>> loss;      // {step, value}; values that are not finite are left out
  std::vector<std::pair<double, double>> accuracy;  // of the test set
  std::vector<std::pair<double, double>> scale;     // drawn by its base 2 logarithm
};

// One SVG; a panel without values is left out. The same curves give the same bytes.
std::string PlotTraining(const std::string& title, const std::vector<TrainingCurve>& curves);

}  // namespace ampc
