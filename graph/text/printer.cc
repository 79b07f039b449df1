#include "graph/text/printer.h"

#include <algorithm>
#include <complex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/text/number.h"
#include "graph/text/quote.h"
#include "graph/text/weight_text.h"

namespace ampc {
namespace {

using text::AppendName;
using text::AppendQuoted;

constexpr size_t kMostShort = 3;  // names in the short form

// One overload per alternative of AttrValue.
struct AppendAttr {
  const Program& program;
  std::string* out;

  void operator()(bool v) { absl::StrAppend(out, v ? "true" : "false"); }
  void operator()(int32_t v) { absl::StrAppend(out, v); }
  void operator()(int64_t v) { absl::StrAppend(out, v, "l"); }
  void operator()(float v) { text::AppendFloat(v, out); }
  void operator()(double v) {
    std::string number;
    text::AppendDouble(v, &number);
    // The suffix stands behind the word: nand(0x...), infd.
    number.insert(number[0] == 'n' ? 3 : number.size(), 1, 'd');
    out->append(number);
  }
  void operator()(const std::string& v) { AppendQuoted(v, out); }
  void operator()(DType v) { absl::StrAppend(out, Name(v)); }
  void operator()(const BlockRef& v) {
    out->push_back('&');
    if (v.index >= 0 && v.index < program.num_blocks()) {
      AppendName(program.block(v.index).name(), out);
    } else {
      absl::StrAppend(out, v.index);
    }
  }
  void operator()(const VarName& v) {
    out->push_back('$');
    AppendQuoted(v.name, out);
  }
  void operator()(const std::complex<double>& v) {
    out->append("complex(");
    (*this)(v.real());
    out->append(", ");
    (*this)(v.imag());
    out->push_back(')');
  }
  void operator()(const Scalar& v) {
    out->append("scalar(");
    std::visit(*this, v.value);
    out->push_back(')');
  }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    if (list.empty()) {
      absl::StrAppend(out, EmptyName(T()), "[]");
      return;
    }
    out->push_back('[');
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out->append(", ");
      (*this)(static_cast<const T&>(list[i]));
    }
    out->push_back(']');
  }

  static absl::string_view EmptyName(bool) { return "bool"; }
  static absl::string_view EmptyName(int32_t) { return "int"; }
  static absl::string_view EmptyName(int64_t) { return "long"; }
  static absl::string_view EmptyName(float) { return "float"; }
  static absl::string_view EmptyName(double) { return "double"; }
  static absl::string_view EmptyName(const std::string&) { return "string"; }
  static absl::string_view EmptyName(const BlockRef&) { return "block"; }
  static absl::string_view EmptyName(const VarName&) { return "var"; }
  static absl::string_view EmptyName(const Scalar&) { return "scalar"; }
};

void AppendType(const TensorType& type, const Program& program, std::string* out) {
  if (type.kind == TypeKind::kOpaque) {
    out->append("opaque");
    return;
  }
  const absl::string_view dtype = type.dtype == DType::kInvalid ? "?" : Name(type.dtype);
  if (type.kind == TypeKind::kTensorArray) {
    absl::StrAppend(out, "array<", dtype, "> [");
  } else {
    absl::StrAppend(out, dtype, " [");
  }
  if (!type.has_rank) out->push_back('*');
  for (int i = 0; i < type.rank(); ++i) {
    if (i > 0) out->append(", ");
    const int64_t dim = type.dims[i];
    if (IsKnown(dim)) {
      absl::StrAppend(out, dim);
    } else if (dim == kUnknownDim || -2 - dim >= static_cast<int64_t>(program.symbols.size())) {
      out->push_back('?');
    } else {
      AppendName(program.symbols[-2 - dim], out);
    }
  }
  out->push_back(']');
  if (type.lod_level > 0) absl::StrAppend(out, " lod=", type.lod_level);
}

class Printer {
 public:
  Printer(const Program& program, const PrintOptions& options) : program_(program), options_(options) {}

  std::string Run() {
    MarkDefined();
    if (!options_.bare) {
      out_.append("program ");
      AppendName(program_.name, &out_);
      absl::StrAppend(&out_, " version=", program_.version, "\n\n");
    }
    for (int b = 0; b < program_.num_blocks(); ++b) PrintBlock(program_.block(b));
    return std::move(out_);
  }

  // One op without indentation and newline.
  std::string RunOp(const Op& op) {
    PrintOp(op);
    return std::move(out_);
  }

 private:
  void MarkDefined() {
    defined_.assign(program_.num_var_ids(), false);
    ForEachOp(program_, [this](const Op& op) {
      for (const Var* var : op.outputs()) defined_[var->id()] = true;
    });
  }

  void PrintBlock(const Block& block) {
    const bool wrapped = block.index() != 0 || !options_.bare;
    indent_ = wrapped ? "  " : "";
    if (wrapped) {
      if (block.index() != 0) out_.push_back('\n');
      out_.append("block ");
      AppendName(block.name(), &out_);
      if (block.index() != 0) {
        out_.append(" parent=");
        AppendName(program_.block(block.parent()).name(), &out_);
      }
      out_.append(" {\n");
    }
    PrintDeclarations(block);
    for (const std::unique_ptr<Op>& op : block.ops()) {
      out_.append(indent_.data(), indent_.size());
      PrintOp(*op);
      if (options_.loc && op->line > 0) absl::StrAppend(&out_, "  # line ", op->line);
      out_.push_back('\n');
    }
    if (block.index() == 0) {
      for (const Var* fetch : program_.fetches) {
        absl::StrAppend(&out_, indent_, "fetch ");
        AppendName(fetch->name(), &out_);
        out_.push_back('\n');
      }
    }
    if (wrapped) out_.append("}\n");
  }

  // In the order of the block, the feeds among them in the order of the signature.
  void PrintDeclarations(const Block& block) {
    std::vector<const Var*> declared;
    size_t width = 0, feed = 0;
    for (const std::unique_ptr<Var>& var : block.vars()) {
      const Var* v = var.get();
      if (v->kind == VarKind::kTemp && defined_[v->id()]) continue;
      if (v->kind == VarKind::kFeed && feed < program_.feeds.size()) v = program_.feeds[feed++];
      declared.push_back(v);
      width = std::max(width, Name(v->kind).size());
    }
    for (const Var* var : declared) PrintDeclaration(*var, width);
  }

  void PrintDeclaration(const Var& var, size_t width) {
    const absl::string_view kind = Name(var.kind);
    absl::StrAppend(&out_, indent_, kind);
    out_.append(width - kind.size() + 1, ' ');
    AppendName(var.name(), &out_);
    out_.append(" : ");
    AppendType(var.type, program_, &out_);
    if (var.trainable) out_.append(" trainable");
    if (var.stop_gradient) out_.append(" stop_gradient");
    if (!var.export_name.empty()) {
      out_.append(" as=");
      AppendQuoted(var.export_name, &out_);
    }
    if (var.was != DType::kInvalid) absl::StrAppend(&out_, " !was=", Name(var.was));
    const std::unique_ptr<WeightRef>& weight = options_.weights == nullptr ? var.weight : (*options_.weights)[var.id()];
    text::AppendValue(var, weight.get(), options_.brief, options_.directory, &out_);
    out_.push_back('\n');
  }

  // How the names of one side of an op print.
  enum class Form { kNone, kShort, kLong };
  template <typename Count>
  static Form FormOf(const OpDef& def, const std::vector<SlotDef>& slots, size_t total, Count count) {
    if (def.opaque) return slots.empty() ? Form::kNone : Form::kLong;
    if (total == 0) return Form::kNone;
    if (slots[0].variadic) return count(0) == total ? Form::kShort : Form::kLong;
    if (total > kMostShort || slots.size() < total) return Form::kLong;
    for (size_t s = 0; s < total; ++s) {
      if (slots[s].variadic || count(s) != 1) return Form::kLong;
    }
    return Form::kShort;
  }

  static Form ResultForm(const Op& op) {
    const Form form =
        FormOf(op.def(), op.def().outputs, op.outputs().size(), [&op](size_t s) { return op.outputs(static_cast<int>(s)).size(); });
    if (form != Form::kShort) return form;
    const bool over = op.Overwrites(0);
    for (size_t i = 1; i < op.outputs().size(); ++i) {
      if (op.Overwrites(static_cast<int>(i)) != over) return Form::kLong;
    }
    return form;
  }

  void AppendNames(absl::Span<Var* const> vars) {
    for (size_t i = 0; i < vars.size(); ++i) {
      if (i > 0) out_.append(", ");
      AppendName(vars[i]->name(), &out_);
    }
  }

  void AppendOperands(const Op& op) {
    const Form form =
        FormOf(op.def(), op.def().inputs, op.inputs().size(), [&op](size_t s) { return op.inputs(static_cast<int>(s)).size(); });
    if (form == Form::kShort) AppendNames(op.inputs());
    if (form != Form::kLong) return;
    const char* comma = "";
    for (size_t s = 0; s < op.def().inputs.size(); ++s) {
      const absl::Span<Var* const> vars = op.inputs(static_cast<int>(s));
      if (vars.empty() && !op.def().opaque) continue;
      const bool list = op.def().inputs[s].variadic || vars.size() != 1;
      out_.append(comma);
      AppendName(op.def().inputs[s].name, &out_);
      out_.append(list ? "=[" : "=");
      AppendNames(vars);
      if (list) out_.push_back(']');
      comma = ", ";
    }
  }

  void AppendLongResults(const Op& op) {
    const char* comma = " -> ";
    size_t flat = 0;
    for (size_t s = 0; s < op.def().outputs.size(); ++s) {
      const absl::Span<Var* const> vars = op.outputs(static_cast<int>(s));
      if (vars.empty() && !op.def().opaque) continue;
      const bool list = op.def().outputs[s].variadic || vars.size() != 1;
      const bool all_over = !vars.empty() && std::all_of(vars.begin(), vars.end(), [](const Var* v) { return v->IsWritable(); });
      out_.append(comma);
      AppendName(op.def().outputs[s].name, &out_);
      absl::StrAppend(&out_, all_over ? "<-" : "=", list ? "[" : "");
      for (size_t i = 0; i < vars.size(); ++i, ++flat) {
        absl::StrAppend(&out_, i > 0 ? ", " : "", !all_over && op.Overwrites(static_cast<int>(flat)) ? "<-" : "");
        AppendName(vars[i]->name(), &out_);
      }
      if (list) out_.push_back(']');
      comma = ", ";
    }
  }

  void AppendAttrs(const Op& op) {
    attrs_.clear();
    for (const Attr& a : op.attrs()) {
      const AttrDef* def = op.def().FindAttr(a.name);
      if (def == nullptr || def->required || !SameAttr(a.value, def->value)) attrs_.push_back(&a);
    }
    std::sort(attrs_.begin(), attrs_.end(), [](const Attr* a, const Attr* b) { return a->name < b->name; });
    for (const Attr* a : attrs_) {
      out_.push_back(' ');
      AppendName(a->name, &out_);
      out_.push_back('=');
      std::visit(AppendAttr{program_, &out_}, a->value);
    }
  }

  // ` !mark=value` or ` !mark=[value, value]` for the results that the op defines; nothing when none of them has one.
  template <typename Get, typename Append>
  void AppendResultMark(absl::string_view mark, const Get& get, const Append& append) {
    using Value = decltype(get(*new_[0]));
    if (std::all_of(new_.begin(), new_.end(), [&](const Var* v) { return get(*v) == Value(); })) return;
    absl::StrAppend(&out_, " !", mark, "=");
    const bool one = std::all_of(new_.begin(), new_.end(), [&](const Var* v) { return get(*v) == get(*new_[0]); });
    if (!one) out_.push_back('[');
    for (size_t i = 0; i < (one ? 1 : new_.size()); ++i) {
      if (i > 0) out_.append(", ");
      append(get(*new_[i]));
    }
    if (!one) out_.push_back(']');
  }

  void AppendOpMarks(const Op& op) {
    const OpMarks& marks = op.marks;
    if (marks.guard != 0) absl::StrAppend(&out_, " !guard=", marks.guard);
    if (marks.amp != AmpMark::kNone) {
      out_.append(marks.amp == AmpMark::kInserted ? " !amp=inserted" : " !amp=fp32");
      if (!marks.amp_reason.empty()) {
        out_.push_back('(');
        AppendQuoted(marks.amp_reason, &out_);
        out_.push_back(')');
      }
    } else if (!marks.amp_reason.empty()) {
      out_.append(" !converted=");
      AppendQuoted(marks.amp_reason, &out_);
    }
    AppendResultMark(
        "was", [](const Var& v) { return v.was; }, [this](DType was) { absl::StrAppend(&out_, was == DType::kInvalid ? "-" : Name(was)); });
    std::vector<std::pair<std::string, DType>> was = marks.was;
    std::sort(was.begin(), was.end());
    for (const auto& [attr, dtype] : was) {
      out_.append(" !was.");
      AppendName(attr, &out_);
      absl::StrAppend(&out_, "=", Name(dtype));
    }
    AppendResultMark(
        "as", [](const Var& v) { return absl::string_view(v.export_name); },
        [this](absl::string_view name) { name.empty() ? out_.push_back('-') : AppendQuoted(name, &out_); });
    if (!new_.empty() && std::all_of(new_.begin(), new_.end(), [](const Var* v) { return v->stop_gradient; })) {
      out_.append(" !stop_gradient");
    } else {
      AppendResultMark(
          "stop_gradient", [](const Var& v) { return v.stop_gradient; }, [this](bool v) { absl::StrAppend(&out_, v ? "true" : "false"); });
    }
    if (op.def().opaque) out_.append(" !opaque");
  }

  void PrintOp(const Op& op) {
    new_.clear();
    for (const Var* var : op.outputs()) {
      if (!var->IsWritable()) new_.push_back(var);
    }
    const Form results = ResultForm(op);
    if (results == Form::kShort) {
      AppendNames(op.outputs());
      out_.append(op.Overwrites(0) ? " <- " : " = ");
    }
    AppendName(op.type(), &out_);
    out_.push_back('(');
    AppendOperands(op);
    out_.push_back(')');
    if (results == Form::kLong) AppendLongResults(op);
    AppendAttrs(op);
    AppendOpMarks(op);
    for (size_t i = 0; i < new_.size(); ++i) {
      out_.append(i == 0 ? " : " : ", ");
      AppendType(new_[i]->type, program_, &out_);
    }
  }

  const Program& program_;
  const PrintOptions& options_;
  std::string out_;
  absl::string_view indent_;
  std::vector<bool> defined_;    // by Var::id: some op has it as a result
  std::vector<const Var*> new_;  // results that the op defines
  std::vector<const Attr*> attrs_;
};

}  // namespace

std::string PrintProgram(const Program& program, const PrintOptions& options) { return Printer(program, options).Run(); }

std::string PrintOp(const Op& op) { return Printer(op.block().program(), PrintOptions()).RunOp(op); }

std::string PrintType(const TensorType& type, const Program& program) {
  std::string out;
  AppendType(type, program, &out);
  return out;
}

}  // namespace ampc
