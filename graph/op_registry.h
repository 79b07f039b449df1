// The records of all ops, each made when it is asked for: a program needs few of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/op_def.h"

namespace ampc {

// Once everything is added any number of threads may read.
class OpRegistry {
 public:
  using Maker = std::function<std::optional<OpDef>()>;

  // `make` gives the record of the op with that name, or none, and may ask for other records. Fails on a second one with the same name.
  absl::Status Add(std::string name, Maker make);
  const OpDef* Find(absl::string_view name) const;  // null when unknown
  // Sorted by name.
  std::vector<const OpDef*> All() const;

 private:
  struct Record {
    Maker make;
    std::once_flag made;
    std::unique_ptr<const OpDef> def;
    const OpDef* Get();
  };
  mutable std::map<std::string, Record, std::less<>> records_;
};

// The registry with every record listed in graph/ops/all_ops.inc. Thread-safe; never fails after the registry test passed.
const OpRegistry& Ops();

}  // namespace ampc
