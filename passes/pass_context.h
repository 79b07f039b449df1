// The input of a pass besides the program: injected knowledge of the target, and the products of earlier passes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "graph/evaluator.h"
#include "graph/precision_support.h"
#include "graph/program_executor.h"

namespace ampc {

class PassContext {
 public:
  const PrecisionSupport* support = nullptr;  // never null when a pipeline runs
  const Evaluator* evaluator = nullptr;       // null: passes that fold skip what needs it
  const ProgramExecutor* executor = nullptr;  // null: passes that measure fail
  // The notes of passes to the user, one sentence each, in order.
  std::vector<std::string> notes;

  // Products: what a pass found out for later ones and for whoever runs the pipeline, at most one of each type. They name ops and values by
  // id, so that a pass that gives these new ids forgets all products.
  template <typename T>
  T* Find() const {
    const auto it = products_.find(typeid(T));
    return it == products_.end() ? nullptr : static_cast<T*>(it->second.get());
  }
  template <typename T>
  void Put(std::unique_ptr<T> product) {
    products_[typeid(T)] = std::shared_ptr<void>(std::move(product));
  }
  // Null where there is none; the context has none then.
  template <typename T>
  std::shared_ptr<T> Take() {
    const auto product = products_.extract(typeid(T));
    return product.empty() ? nullptr : std::static_pointer_cast<T>(product.mapped());
  }
  void ForgetProducts() { products_.clear(); }

 private:
  std::map<std::type_index, std::shared_ptr<void>> products_;
};

}  // namespace ampc
