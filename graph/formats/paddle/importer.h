// Internal to the Paddle importer: one import in progress.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "graph/formats/paddle/files.h"
#include "graph/formats/paddle/origin.h"
#include "graph/formats/paddle/scopes.h"
#include "graph/infer_memo.h"
#include "graph/program.h"

namespace ampc::paddle {

class Importer {
 public:
  Importer(std::shared_ptr<PaddleOrigin> origin, Scopes scopes, const PaddleFiles& files);
  absl::StatusOr<Program> Run();

 private:
  // Operands or results of one slot of the file; the name lives as long as the op's description.
  struct SlotArgs {
    absl::string_view slot;
    absl::InlinedVector<Var*, 4> vars;
  };
  using ArgList = absl::InlinedVector<SlotArgs, 6>;
  // Outer variables that a block's ops touch, each once, in order of first use.
  struct Captures {
    std::vector<Var*> reads;
    std::vector<Var*> writes;
    absl::flat_hash_set<const Var*> seen_reads;
    absl::flat_hash_set<const Var*> seen_writes;
  };

  // importer.cc: blocks, variables, signature
  absl::Status MakeFeeds();
  void MakeKeptVars();
  absl::Status ImportBlock(int block);
  absl::Status TakeFetch(const OpDesc& op, int position);
  const OpDesc& ParseOp(int block, int position, OpDesc* desc) const;
  void SortFetches();
  Var* NewVersion(Storage& storage, VarKind kind);
  std::string FreshName(Storage& storage) const;
  VarKind KeptKind(const Storage& storage) const;
  Var* Read(int block, absl::string_view name);
  Var* Write(int block, absl::string_view name);
  absl::Status Error(absl::string_view what) const;

  // import_op.cc: one op
  absl::Status ImportOp(int block, int position, const OpDesc& desc);
  absl::Status ImportNested(int block, const OpDesc& desc, std::vector<int>* children);
  absl::Status GatherArgs(int block, const OpDesc& desc, ArgList* inputs, ArgList* outputs);
  absl::string_view Unlisted(int block, const OpDesc& desc, absl::string_view name);
  void AppendOp(std::unique_ptr<Op> op, bool converts);
  void AddCaptures(int block, const OpDef* def, const std::vector<int>& children, PaddleOrigin::Added* added, ArgList* inputs,
                   ArgList* outputs);
  const OpDef* OpaqueFor(const OpDesc& desc, const ArgList& inputs, const ArgList& outputs);

  // import_params.cc: weights
  absl::Status AttachParams();
  absl::Status AttachCombined(const std::vector<Storage*>& params);
  absl::Status AttachSeparate(const std::vector<Storage*>& params);
  absl::Status AttachWeight(const Storage& storage, std::shared_ptr<const WeightSource> source, uint64_t* offset);

  const PaddleFiles& files_;
  std::shared_ptr<PaddleOrigin> origin_;
  Scopes scopes_;
  Program program_;
  std::vector<Captures> captures_;                      // by block
  std::vector<bool> entered_;                           // by block
  absl::flat_hash_map<const Var*, const Var*> listed_;  // by result of a listed cast: the source
  std::vector<std::pair<int, Var*>> fetches_;           // by col, with position in fetch_positions_
  std::vector<int> fetch_positions_;
  InferMemo inferred_;
};

}  // namespace ampc::paddle
