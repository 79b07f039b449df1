#include "kernels/spec/product/einsum_path.h"

#include <algorithm>
#include <utility>

namespace ampc {
namespace {

struct Term {
  Labelled t;
  int input;
};

bool AnyHas(const std::vector<Term>& terms, int label, size_t but, size_t and_but) {
  for (size_t i = 0; i < terms.size(); ++i) {
    if (i != but && i != and_but && Has(terms[i].t.labels, label)) return true;
  }
  return false;
}

// The labels of terms i and j that the result or another term still needs.
Labels Kept(const Equation& e, const std::vector<Term>& terms, size_t i, size_t j) {
  Labels kept;
  for (const size_t k : {i, j}) {
    for (const int label : terms[k].t.labels) {
      if (!Has(kept, label) && (Has(e.result, label) || AnyHas(terms, label, i, j))) kept.push_back(label);
    }
  }
  return kept;
}

double Terms(const Labelled& a, const Labelled& b) {
  double n = 1;
  for (const auto& [label, size] : a.sizes) n *= static_cast<double>(size);
  for (const auto& [label, size] : b.sizes) n *= Has(a.labels, label) ? 1 : static_cast<double>(size);
  return n;
}

// An equation over its own labels alone: a label of the result that no operand has counts.
EinsumStep StepOf(const Equation& e, const std::vector<Term>& terms, Labels kept) {
  EinsumStep step;
  for (size_t i = 0; i < terms.size(); ++i) {
    step.equation.operands.push_back(terms[i].t);
    step.inputs[i] = terms[i].input;
    for (const int label : terms[i].t.labels) step.equation.sizes[label] = e.sizes.at(label);
  }
  for (const int label : kept) step.equation.sizes[label] = e.sizes.at(label);
  step.equation.result = std::move(kept);
  return step;
}

std::pair<size_t, size_t> Cheapest(const std::vector<Term>& terms) {
  std::pair<size_t, size_t> best = {0, 1};
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t j = i + 1; j < terms.size(); ++j) {
      if (Terms(terms[i].t, terms[j].t) < Terms(terms[best.first].t, terms[best.second].t)) best = {i, j};
    }
  }
  return best;
}

}  // namespace

std::vector<EinsumStep> EinsumPath(const Equation& e) {
  std::vector<EinsumStep> steps;
  std::vector<Term> terms;
  for (size_t i = 0; i < e.operands.size(); ++i) terms.push_back({e.operands[i], static_cast<int>(i)});
  int next = static_cast<int>(terms.size());
  for (size_t i = 0; i < terms.size(); ++i) {
    const Labels kept = Kept(e, terms, i, i);
    if (kept.size() == terms[i].t.labels.size()) continue;
    steps.push_back(StepOf(e, {terms[i]}, kept));
    terms[i] = {Dense(kept, e.sizes), next++};
  }
  while (terms.size() > 1) {
    const auto [i, j] = Cheapest(terms);
    const Labels kept = terms.size() == 2 ? e.result : Kept(e, terms, i, j);
    steps.push_back(StepOf(e, {terms[i], terms[j]}, kept));
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
    terms[i] = {Dense(kept, e.sizes), next++};
  }
  return steps;
}

}  // namespace ampc
