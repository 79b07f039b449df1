// Facts and sets over random programs with loops and branches, held to what can be reached along the edges that the generator wrote down.
#include <gtest/gtest.h>

#include <bitset>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/analysis/dataflow.h"
#include "passes/analysis/forward_facts.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr int kPrograms = 300;
constexpr int kMostDepth = 3;

// A program as text, and which value goes into which, AMP's own casts left out.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      feeds_.push_back(absl::StrCat("feed ", seeds_.emplace_back(Name("x")), " : f32 [4]"));
      values_.push_back(seeds_.back());
    }
    for (int i = 0; i < 2; ++i) {
      carries_.push_back(seeds_.emplace_back(Name("c")));
      feeds_.push_back(absl::StrCat("carry ", carries_.back(), " : f32 [4]"));
      Write(&main_, carries_.back());
      values_.push_back(carries_.back());
    }
    Body(&main_, 0);
  }

  std::string Text() const {
    std::string text = absl::StrCat(absl::StrJoin(feeds_, "\n"), "\nfeed n : i64 []\nfeed go : bool []\ncarry more : bool [1]\n",
                                    absl::StrJoin(main_, "\n"), "\nfetch ", values_[0], "\n");
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {  // a block is done after those in it
      absl::StrAppend(&text, "block ", block->first, " parent=", parents_.at(block->first), " {\n", absl::StrJoin(block->second, "\n"),
                      "\n}\n");
    }
    return text;
  }
  // The values from which there is a way to each value.
  std::map<std::string, std::set<std::string>> Reached() const {
    std::map<std::string, std::set<std::string>> from;
    for (const std::string& seed : seeds_) from[seed].insert(seed);
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [a, b] : edges_) {
        const size_t before = from[b].size();
        from[b].insert(from[a].begin(), from[a].end());
        changed = changed || from[b].size() != before;
      }
    }
    return from;
  }

 private:
  using Lines = std::vector<std::string>;
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string Name(const char* base) { return absl::StrCat(base, next_++); }
  // Any value that is visible; now and then through a cast of AMP's own.
  std::string Operand(Lines* lines, std::string* root) {
    *root = values_[Below(static_cast<int>(values_.size()))];
    if (Below(5) != 0) return *root;
    const std::string cast = Name("k");
    lines->push_back(absl::StrCat(cast, " = cast(", *root, ") out_dtype=f16 !amp=inserted : f16 [4]"));
    return cast;
  }
  std::string Write(Lines* lines, const std::string& to) {
    std::string a, b;
    const std::string x = Operand(lines, &a), y = Operand(lines, &b);
    const bool carry = to[0] == 'c';
    lines->push_back(absl::StrCat(to, carry ? " <- " : " = ", "elementwise_add(", x, ", ", y, ")", carry ? "" : " : f32 [4]"));
    edges_.emplace_back(a, to);
    edges_.emplace_back(b, to);
    return to;
  }
  void Body(Lines* lines, int depth) {
    const int ops = 2 + Below(4);
    for (int i = 0; i < ops; ++i) {
      switch (depth < kMostDepth ? Below(7) : 0) {
        case 1: If(lines, depth); break;
        case 2: Loop(lines, depth); break;
        case 3: While(lines, depth); break;
        case 4: Write(lines, carries_[Below(static_cast<int>(carries_.size()))]); break;
        default: values_.push_back(Write(lines, seeds_.emplace_back(Name("t"))));
      }
    }
  }
  // `fill` writes the body; what it defines is not seen behind.
  template <typename Fill>
  std::string Block(const Fill& fill) {
    const std::string name = Name("b");
    parents_[name] = block_;
    const std::string outer = std::exchange(block_, name);
    const std::vector<std::string> visible = values_;
    Lines lines;
    fill(&lines);
    blocks_.emplace_back(name, lines);
    block_ = outer;
    values_ = visible;
    return name;
  }
  void Yield(Lines* lines, const std::string& first, const std::vector<std::vector<std::string>>& to) {
    std::vector<std::string> given;
    if (!first.empty()) given.push_back(first);
    for (const std::vector<std::string>& targets : to) {
      std::string root;
      given.push_back(Operand(lines, &root));
      for (const std::string& target : targets) edges_.emplace_back(root, target);
    }
    lines->push_back(absl::StrCat("onnx.yield(outputs=[", absl::StrJoin(given, ", "), "])"));
  }
  void If(Lines* lines, int depth) {
    const std::string y = Name("y");
    const auto branch = [&](Lines* body) {
      Body(body, depth + 1);
      Yield(body, "", {{y}});
    };
    const std::string yes = Block(branch), no = Block(branch);
    lines->push_back(absl::StrCat(y, " = onnx.If.16(cond=go) then_branch=&", yes, " else_branch=&", no, " : f32 [4]"));
    values_.push_back(y);
  }
  void Loop(Lines* lines, int depth) {
    std::vector<std::string> starts, states, results;
    for (int i = 0; i < 2; ++i) {
      std::string root;
      starts.push_back(Operand(lines, &root));
      states.push_back(Name("s"));
      results.push_back(Name("r"));
      edges_.emplace_back(root, states[i]);
      edges_.emplace_back(root, results[i]);  // no iteration
    }
    const std::string all = Name("r"), turn = Name("i"), on = Name("o");
    const std::string body = Block([&](Lines* body) {
      body->push_back(absl::StrCat("onnx.enter() -> inputs=[", turn, ", ", on, ", ", absl::StrJoin(states, ", "), "]"));
      values_.insert(values_.end(), states.begin(), states.end());
      Body(body, depth + 1);
      Yield(body, on, {{states[0], results[0]}, {states[1], results[1]}, {all}});
    });
    results.push_back(all);
    lines->push_back(absl::StrCat("onnx.Loop.16(M=n, cond=go, v_initial=[", absl::StrJoin(starts, ", "), "]) -> v_final_and_scan_outputs=[",
                                  absl::StrJoin(results, ", "), "] body=&", body, " : f32 [4], f32 [4], f32 [?, 4]"));
    values_.insert(values_.end(), results.begin(), results.end());
  }
  void While(Lines* lines, int depth) {
    const std::string body = Block([&](Lines* body) { Body(body, depth + 1); });
    lines->push_back(absl::StrCat(absl::StrJoin(carries_, ", "), " <- while(X=[n], Condition=more) sub_block=&", body));
  }

  std::mt19937 random_;
  int next_ = 0;
  Lines feeds_, main_;
  std::vector<std::pair<std::string, Lines>> blocks_;
  std::map<std::string, std::string> parents_;
  std::string block_ = "main";
  std::vector<std::string> values_, carries_, seeds_;
  std::vector<std::pair<std::string, std::string>> edges_;
};

using Ids = std::bitset<1024>;  // by Var::id

// From which values there is a way.
struct Reaching {
  const ForwardFacts<Ids, Reaching>* facts = nullptr;
  static Ids Own(const Var& var) { return Ids().set(static_cast<size_t>(var.id())); }
  Ids Initial(const Var& var) const { return Own(var); }
  void Transfer(const Op& op, Ids* results) const {
    Ids all;
    for (const Var* var : op.inputs()) all |= facts->Of(*var);
    for (size_t i = 0; i < op.outputs().size(); ++i) results[i] = all | Own(*op.outputs()[i]);
  }
  static Ids Across(const Ids& fact) { return fact; }
  static Ids Join(const Ids& a, const Ids& b) { return a | b; }
  static Ids Widen(const Ids&, const Ids& now) { return now; }
};

std::map<std::string, const Var*> ByName(const Program& program) {
  std::map<std::string, const Var*> vars;
  ForEachVar(program, [&](const Var& var) { vars[var.name()] = &var; });
  return vars;
}

TEST(Dataflow, ForwardFactsAreWhatCanBeReachedAlongTheEdges) {
  int loops = 0;
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    const RandomProgram made(seed);
    ASSERT_OK_AND_ASSIGN(const Program program, testing::ParseBare(made.Text()));
    ASSERT_LT(program.num_var_ids(), 1024);
    loops += program.num_blocks() - 1;
    const ValueFlow flow(program);
    Reaching analysis;
    ForwardFacts<Ids, Reaching> facts(flow, analysis);
    analysis.facts = &facts;
    facts.Run();
    const std::map<std::string, const Var*> vars = ByName(program);
    for (const auto& [name, from] : made.Reached()) {
      const Ids& found = facts.Of(*vars.at(name));
      for (const auto& [other, var] : vars) {
        if (other[0] != 'x' && other[0] != 't' && other[0] != 'c') continue;  // casts, and what crosses a border, add nothing of their own
        EXPECT_EQ(found.test(static_cast<size_t>(var->id())), from.contains(other)) << other << " to " << name << ", seed " << seed << "\n"
                                                                                    << made.Text();
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(loops, kPrograms);
}

TEST(Dataflow, BackwardSetsAreWhatLeadsToAnOp) {
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    const RandomProgram made(seed);
    ASSERT_OK_AND_ASSIGN(const Program program, testing::ParseBare(made.Text()));
    const std::map<std::string, const Var*> vars = ByName(program);
    std::vector<std::string> wanted;  // each the name of a set
    for (const auto& [name, var] : vars) {
      if ((name[0] == 't' || name[0] == 'c') && wanted.size() < 32) wanted.push_back(name);
    }
    const ValueFlow flow(program);
    const std::vector<uint32_t> sets = BackwardSets(flow, [&](const Op& op, uint32_t results, AddToSets add) {
      if (!op.SubBlocks().empty()) return;
      for (const Var* var : op.inputs()) add(*var, results);
      for (size_t i = 0; i < wanted.size(); ++i) {
        for (const Var* var : op.outputs()) {
          if (var->name() == wanted[i]) add(*var, uint32_t{1} << i);
        }
      }
    });
    const auto reached = made.Reached();
    for (size_t i = 0; i < wanted.size(); ++i) {
      for (const auto& [other, var] : vars) {
        if (other[0] != 'x' && other[0] != 't' && other[0] != 'c') continue;
        EXPECT_EQ((sets[var->id()] >> i & 1) != 0, reached.at(wanted[i]).contains(other))
            << other << " to " << wanted[i] << ", seed " << seed << "\n"
            << made.Text();
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// How far a number may have been counted.
struct Counting {
  const ForwardFacts<int, Counting>* facts = nullptr;
  static constexpr int kAny = 1 << 20;
  int visits = 0;
  int Initial(const Var&) const { return 0; }
  void Transfer(const Op& op, int* results) {
    ++visits;
    int most = 0;
    for (const Var* var : op.inputs()) most = std::max(most, facts->Of(*var));
    for (size_t i = 0; i < op.outputs().size(); ++i) results[i] = std::min(most + (op.type() == "increment" ? 1 : 0), kAny);
  }
  static int Across(int fact) { return fact; }
  static int Join(int a, int b) { return std::max(a, b); }
  static int Widen(int, int) { return kAny; }
};

TEST(Dataflow, WhatALoopCountsIsWidened) {
  ASSERT_OK_AND_ASSIGN(const Program program, testing::ParseBare(R"(
feed x : f32 [1]
carry c : f32 [1]
carry more : bool [1]
c <- assign(x)
c, more <- while(X=[x], Condition=more) sub_block=&body
y = assign(c) : f32 [1]
fetch y
block body parent=main {
  c <- increment(c)
}
)"));
  const ValueFlow flow(program);
  Counting analysis;
  ForwardFacts<int, Counting> facts(flow, analysis);
  analysis.facts = &facts;
  facts.Run();
  EXPECT_EQ(facts.Of(*ByName(program).at("y")), Counting::kAny);
  EXPECT_LT(analysis.visits, 30);
}

// The facts of `ops` in one line are found in one sweep, and a chain of states is not followed by calls within calls.
TEST(Dataflow, VisitsAreLinear) {
  std::string text = "feed x : f32 [4]\n";
  constexpr int kOps = 20000;
  for (int i = 0; i < kOps; ++i) absl::StrAppend(&text, "t", i, " = increment(", i == 0 ? "x" : absl::StrCat("t", i - 1), ") : f32 [4]\n");
  absl::StrAppend(&text, "fetch t", kOps - 1, "\n");
  ASSERT_OK_AND_ASSIGN(const Program program, testing::ParseBare(text));
  const ValueFlow flow(program);
  Counting analysis;
  ForwardFacts<int, Counting> facts(flow, analysis);
  analysis.facts = &facts;
  facts.Run();
  EXPECT_EQ(analysis.visits, kOps);
  EXPECT_EQ(facts.Of(*program.fetches[0]), kOps);
}

}  // namespace
}  // namespace ampc
