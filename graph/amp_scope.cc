#include "graph/amp_scope.h"

#include "absl/strings/str_cat.h"
#include "graph/amp_region.h"
#include "graph/base/error.h"

namespace ampc::amp {

Scope::Scope(ProgramBuilder& builder, absl::string_view level)
    : builder_(builder), first_(builder.program().main().ops().size()), level_(level) {
  if (level != "O0" && level != "O1" && level != "O2") {
    builder.Fail(UsageError(absl::StrCat("amp::Scope: level is '", level, "', needs O0, O1 or O2")));
  }
}

// An inner region has ended, and its mark comes behind this one's: the innermost is the last.
Scope::~Scope() {
  const auto& ops = builder_.program().main().ops();
  for (size_t i = first_; i < ops.size(); ++i) {
    const std::string inner = ops[i]->GetString("op_namescope");
    ops[i]->SetAttr("op_namescope", absl::StrCat(AmpRegion(level_), inner.empty() || inner[0] != '/' ? "/" : "", inner));
  }
}

}  // namespace ampc::amp
