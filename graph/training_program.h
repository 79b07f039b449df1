// TrainingProgram: a program that trains, with the program that gives its variables their first values.
#pragma once

#include <utility>

#include "graph/program.h"

namespace ampc {

struct TrainingProgram {
  Program main;
  // Run once, before `main`: its ops overwrite params and states named as in `main` that bring no weight along, or that are
  // computed from others (a master weight from its parameter). Empty for a program that is only run.
  Program startup;

  // A program that is only run needs no startup program.
  operator Program() && { return std::move(main); }  // NOLINT(google-explicit-constructor)
};

}  // namespace ampc
