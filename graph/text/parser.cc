#include "graph/text/parser.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/text/cursor.h"
#include "graph/text/op_build.h"
#include "graph/text/op_text.h"
#include "graph/text/value.h"
#include "graph/text/weight_text.h"

namespace ampc {
namespace {

using text::Cursor;
using text::Tok;

constexpr int kMostNesting = 64;  // names are looked up through all enclosing blocks

std::optional<VarKind> DeclaredKind(absl::string_view word) {
  for (VarKind kind : {VarKind::kFeed, VarKind::kParam, VarKind::kState, VarKind::kConst, VarKind::kTemp, VarKind::kCarry}) {
    if (word == Name(kind)) return kind;
  }
  return std::nullopt;
}

struct BlockHeader {
  std::string name;
  std::string parent;  // empty: none given
  int line = 0;
};

class Parser {
 public:
  Parser(absl::string_view text, const ParseOptions& options)
      : text_(text), options_(options), cursor_(text, options.file), weights_(options), ops_(program_, cursor_) {
    scope_.program = &program_;
  }

  absl::StatusOr<Program> Run() {
    AMPC_RETURN_IF_ERROR(AddBlocks());
    SkipBlankLines();
    const bool header = cursor_.IsWord("program");
    if (header) AMPC_RETURN_IF_ERROR(ParseHeader());
    SkipBlankLines();
    if (!header && !options_.bare) return cursor_.Unexpected("'program', a name and a version");
    if (!header && !cursor_.IsWord("block")) {
      AMPC_RETURN_IF_ERROR(ParseStatements(program_.main()));
    } else {
      AMPC_RETURN_IF_ERROR(ParseBlock());
    }
    for (SkipBlankLines(); at_block_ || !cursor_.Is(Tok::kEnd); SkipBlankLines()) AMPC_RETURN_IF_ERROR(ParseBlock());
    return std::move(program_);
  }

 private:
  void SkipBlankLines() {
    while (cursor_.Take(Tok::kNewline)) {
    }
  }

  // `name parent=name` behind the word `block`.
  static absl::Status ReadBlockHeader(Cursor& cursor, BlockHeader* out) {
    out->line = cursor.line();
    AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor.Name("the name of a block"));
    out->name = std::string(name);
    if (!cursor.TakeWord("parent")) return absl::OkStatus();
    AMPC_RETURN_IF_ERROR(cursor.Need('=', "'=' and the name of the parent block"));
    AMPC_ASSIGN_OR_RETURN(absl::string_view parent, cursor.Name("the name of the parent block"));
    out->parent = std::string(parent);
    return absl::OkStatus();
  }

  // Blocks are named before they are read, so all headers are read first. A statement never spans lines.
  absl::Status AddBlocks() {
    std::vector<int> depth = {0};
    scope_.blocks.emplace("main", 0);
    int line = 0;
    for (absl::string_view rest = text_; !rest.empty();) {
      ++line;
      const size_t end = std::min(rest.find('\n'), rest.size());
      absl::string_view row = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      row.remove_prefix(std::min(row.find_first_not_of(" \t\r"), row.size()));
      if (!absl::StartsWith(row, "block")) continue;
      Cursor cursor(row, options_.file);
      BlockHeader header;
      if (!cursor.TakeWord("block") || !ReadBlockHeader(cursor, &header).ok()) continue;  // reported when it is reached
      if (header.parent.empty() && header.name == "main") continue;
      const auto parent = scope_.blocks.find(header.parent);
      if (parent == scope_.blocks.end()) {
        const std::string found = header.parent.empty() ? "without a parent" : absl::StrCat("with the parent '", header.parent, "'");
        return cursor_.ErrorAt(line,
                               absl::StrCat("found block '", header.name, "' ", found, ", needed parent= and the name of a block above"));
      }
      const int parent_index = parent->second;  // the map may move when it grows
      if (!scope_.blocks.emplace(header.name, program_.num_blocks()).second) {
        return cursor_.ErrorAt(line, absl::StrCat("found block '", header.name, "' twice, needed a name of its own"));
      }
      depth.push_back(depth[parent_index] + 1);
      if (depth.back() > kMostNesting) {
        return cursor_.ErrorAt(
            line, absl::StrCat("found block '", header.name, "' ", depth.back(), " levels deep, needed at most ", kMostNesting));
      }
      program_.AddBlock(parent_index, header.name);
    }
    return absl::OkStatus();
  }

  absl::Status ParseHeader() {
    cursor_.Advance();
    AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor_.Name("the name of the program"));
    program_.name = std::string(name);
    if (cursor_.TakeWord("version")) {
      AMPC_RETURN_IF_ERROR(cursor_.Need('=', "'=' and the version"));
      AMPC_ASSIGN_OR_RETURN(program_.version, cursor_.Int("a version number"));
    }
    return cursor_.NeedEndOfLine();
  }

  absl::Status ParseBlock() {
    if (!at_block_ && !cursor_.TakeWord("block")) return cursor_.Unexpected("'block', a name and '{'");
    at_block_ = false;
    BlockHeader header;
    AMPC_RETURN_IF_ERROR(ReadBlockHeader(cursor_, &header));
    const auto found = scope_.blocks.find(header.name);
    const int index = found == scope_.blocks.end() ? -1 : found->second;
    if (index != blocks_done_) {
      return cursor_.ErrorAt(header.line,
                             absl::StrCat("found block '", header.name, "', needed ",
                                          blocks_done_ == 0 ? "block 'main' first" : "a block once and in the order of the headers"));
    }
    AMPC_RETURN_IF_ERROR(cursor_.Need('{', "'{'"));
    AMPC_RETURN_IF_ERROR(cursor_.NeedEndOfLine());
    AMPC_RETURN_IF_ERROR(ParseStatements(program_.block(index)));
    const std::string needed = absl::StrCat("'}' to end the block '", header.name, "'");
    if (at_block_) return cursor_.Error(absl::StrCat("found a block, needed ", needed));
    AMPC_RETURN_IF_ERROR(cursor_.Need('}', needed));
    return cursor_.NeedEndOfLine();
  }

  // Up to `}`, a block header or the end of the text.
  absl::Status ParseStatements(Block& block) {
    ++blocks_done_;
    for (;;) {
      cursor_.ForgetNames();
      SkipBlankLines();
      if (cursor_.Is('}') || cursor_.Is(Tok::kEnd)) return absl::OkStatus();
      std::optional<absl::string_view> first;
      if (cursor_.IsName()) {
        const bool word = cursor_.Is(Tok::kName);
        AMPC_ASSIGN_OR_RETURN(first, cursor_.Name("a statement"));
        if (word && cursor_.IsName()) {
          at_block_ = *first == "block";
          if (at_block_) return absl::OkStatus();
          AMPC_RETURN_IF_ERROR(ParseKeyword(*first, block));
          continue;
        }
      } else if (!cursor_.Is('-')) {
        return cursor_.Unexpected("a statement or '}'");
      }
      AMPC_RETURN_IF_ERROR(text::ParseOpText(cursor_, scope_, first, &op_));
      AMPC_RETURN_IF_ERROR(ops_.Append(op_, block));
    }
  }

  absl::Status ParseKeyword(absl::string_view word, Block& block) {
    if (word == "fetch") return ParseFetch(block);
    if (std::optional<VarKind> kind = DeclaredKind(word)) return ParseDeclaration(*kind, block);
    return cursor_.Error(absl::StrCat("found '", word, "', needed feed, param, state, const, carry, temp, fetch, or an op"));
  }

  absl::Status ParseFetch(Block& block) {
    if (block.index() != 0) return cursor_.Error(absl::StrCat("found a fetch in block '", block.name(), "', needed it in block 'main'"));
    do {
      const int line = cursor_.line();
      AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor_.Name("the name of a value"));
      Var* var = block.FindVisible(name);
      if (var == nullptr)
        return cursor_.ErrorAt(line, absl::StrCat("found fetch '", name, "', needed a name that is declared or defined above"));
      program_.fetches.push_back(var);
    } while (cursor_.Take(','));
    return cursor_.NeedEndOfLine();
  }

  absl::Status ParseDeclaration(VarKind kind, Block& block) {
    const int line = cursor_.line();
    AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor_.Name("a name"));
    if (const Var* seen = block.FindVisible(name)) {
      return cursor_.ErrorAt(line, absl::StrCat("found ", Name(kind), " '", name, "', needed a name that no ", Name(seen->kind), " has"));
    }
    if (kind == VarKind::kFeed && block.index() != 0) {
      return cursor_.ErrorAt(line, absl::StrCat("found feed '", name, "' in block '", block.name(), "', needed it in block 'main'"));
    }
    AMPC_RETURN_IF_ERROR(cursor_.Need(':', "':' and a type"));
    AMPC_ASSIGN_OR_RETURN(TensorType type, text::ParseType(cursor_, scope_));
    Var* var = block.AddVar(std::string(name), kind, std::move(type));
    if (kind == VarKind::kFeed) program_.feeds.push_back(var);
    AMPC_RETURN_IF_ERROR(ParseFlags(*var));
    if (cursor_.Is('=')) {
      if (kind != VarKind::kParam && kind != VarKind::kState && kind != VarKind::kConst) {
        return cursor_.Unexpected(absl::StrCat("no value, because only a param, state or const has one, not a ", Name(kind)));
      }
      cursor_.Advance();
      AMPC_RETURN_IF_ERROR(weights_.ParseValue(cursor_, *var));
    }
    if (cursor_.Is(Tok::kNewline) || cursor_.Is(Tok::kEnd)) return cursor_.NeedEndOfLine();
    return cursor_.Unexpected("trainable, stop_gradient, as=, !was=, '=' and a value, or the end of the line");
  }

  absl::Status ParseFlags(Var& var) {
    for (;;) {
      if (cursor_.TakeWord("trainable")) {
        var.trainable = true;
      } else if (cursor_.TakeWord("stop_gradient")) {
        var.stop_gradient = true;
      } else if (cursor_.TakeWord("as")) {
        AMPC_RETURN_IF_ERROR(cursor_.Need('=', "'=' and a name in quotes"));
        if (!cursor_.Is(Tok::kString)) return cursor_.Unexpected("a name in quotes");
        AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor_.Name("a name in quotes"));
        var.export_name = std::string(name);
      } else if (cursor_.Take('!')) {
        if (!cursor_.TakeWord("was")) return cursor_.Unexpected("the mark was");
        AMPC_RETURN_IF_ERROR(cursor_.Need('=', "'=' and a data type"));
        AMPC_ASSIGN_OR_RETURN(var.was, text::ParseDTypeWord(cursor_));
      } else {
        return absl::OkStatus();
      }
    }
  }

  absl::string_view text_;
  const ParseOptions& options_;
  Program program_;
  text::Scope scope_;
  Cursor cursor_;
  text::WeightReader weights_;
  text::OpBuilder ops_;
  text::OpText op_;
  int blocks_done_ = 0;
  bool at_block_ = false;  // the word `block` of a header has been taken
};

}  // namespace

absl::StatusOr<Program> ParseProgram(absl::string_view text, const ParseOptions& options) { return Parser(text, options).Run(); }

}  // namespace ampc
