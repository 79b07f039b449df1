// PerRecord: facts about the records of a program's ops, each worked out once: a program of a million ops has a few hundred records.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "graph/op_def.h"

namespace ampc {

// T is small: it is given by value. Not thread-safe.
template <typename T>
class PerRecord {
 public:
  // The result of `make(def)`, called the first time that the record is asked for.
  template <typename Make>
  T Of(const OpDef& def, const Make& make) {
    const auto [it, added] = facts_.try_emplace(&def);
    if (added) it->second = make(def);
    return it->second;
  }

 private:
  absl::flat_hash_map<const OpDef*, T> facts_;
};

}  // namespace ampc
