#include "graph/base/memory_files.h"

namespace ampc {
namespace {

thread_local const MemoryFiles* in_scope = nullptr;

}  // namespace

MemoryFiles::Scope::Scope(const MemoryFiles* files) { in_scope = files; }
MemoryFiles::Scope::~Scope() { in_scope = nullptr; }

const MemoryFiles::File* MemoryFiles::FindInScope(const std::string& name) { return in_scope == nullptr ? nullptr : in_scope->Find(name); }

}  // namespace ampc
