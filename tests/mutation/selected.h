// Which of the mutants that were written into the sources runs; included first in each of them. schemata.py says how a source reads then.
#pragma once

extern "C" {
extern int ampc_mutant;                 // the number of the one that runs, by the environment's AMPC_MUTANT; 0 without one
extern unsigned char* ampc_mutants_at;  // a byte for each number, set once the program comes to its place
}

static inline bool AmpcMutant(int number) {
  ampc_mutants_at[number] = 1;
  return ampc_mutant == number;
}
