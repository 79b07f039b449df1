// Paddle programs by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "proto/paddle_framework.pb.h"

namespace ampc::testing {

using SlotArgs = std::vector<std::pair<std::string, std::vector<std::string>>>;

class DescBuilder {
 public:
  DescBuilder() { AddBlock(-1); }

  int AddBlock(int parent) {
    paddle::BlockDesc* block = desc_.add_blocks();
    block->set_idx(desc_.blocks_size() - 1);
    block->set_parent_idx(parent);
    return block->idx();
  }
  // A float32 (5) tensor unless `number` says otherwise.
  paddle::VarDesc& Var(int block, const std::string& name, const std::vector<int64_t>& dims = {2, 2}, int number = 5) {
    paddle::VarDesc* var = desc_.mutable_blocks(block)->add_vars();
    var->set_name(name);
    var->mutable_type()->set_type(7);
    paddle::TensorDesc* tensor = var->mutable_type()->mutable_lod_tensor()->mutable_tensor();
    tensor->set_data_type(number);
    for (const int64_t dim : dims) tensor->add_dims(dim);
    return *var;
  }
  paddle::VarDesc& Holder(const std::string& name, int type) {
    paddle::VarDesc* var = desc_.mutable_blocks(0)->add_vars();
    var->set_name(name);
    var->mutable_type()->set_type(type);
    var->set_persistable(true);
    return *var;
  }
  paddle::OpDesc& Op(int block, const std::string& type, const SlotArgs& inputs, const SlotArgs& outputs) {
    paddle::OpDesc* op = desc_.mutable_blocks(block)->add_ops();
    op->set_type(type);
    for (const auto& [slot, names] : inputs) Fill(slot, names, op->add_inputs());
    for (const auto& [slot, names] : outputs) Fill(slot, names, op->add_outputs());
    return *op;
  }
  static paddle::OpDesc_Attr& Attr(paddle::OpDesc& op, const std::string& name, int type) {
    paddle::OpDesc_Attr* attr = op.add_attrs();
    attr->set_name(name);
    attr->set_type(type);
    return *attr;
  }
  void Feed(const std::string& var, int col) { Attr(Op(0, "feed", {{"X", {"feed"}}}, {{"Out", {var}}}), "col", 0).set_i(col); }
  void Fetch(const std::string& var, int col) { Attr(Op(0, "fetch", {{"X", {var}}}, {{"Out", {"fetch"}}}), "col", 0).set_i(col); }

  paddle::ProgramDesc& desc() { return desc_; }
  std::string Bytes() const { return desc_.SerializeAsString(); }

 private:
  static void Fill(const std::string& slot, const std::vector<std::string>& names, paddle::OpDesc_Var* out) {
    out->set_parameter(slot);
    for (const std::string& name : names) out->add_arguments(name);
  }

  paddle::ProgramDesc desc_;
};

}  // namespace ampc::testing
