// ampc inspect: what is in a model.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/base/utf8.h"
#include "graph/formats/format.h"
#include "graph/text/printer.h"
#include "runtime/convert/model_facts.h"
#include "runtime/session.h"
#include "tools/bench/feeds.h"
#include "tools/cli/command.h"

namespace ampc {
namespace {

struct InspectFlags {
  std::string model;
  std::string params;
  bool ops = false;
  bool weights = false;
  bool text = false;
  bool json = false;
  bool plan = false;
  std::vector<std::string> dims;
  int threads = 0;
};

std::string Signature(const std::vector<Var*>& vars, const Program& program) {
  std::string out;
  for (const Var* v : vars) absl::StrAppend(&out, "  ", Printable(v->exported()), " : ", PrintType(v->type, program), "\n");
  return out;
}

void PrintText(Console& console, const InspectFlags& flags, const Program& program, const ModelFacts& facts) {
  std::string out =
      absl::StrCat(flags.model, ": ", facts.num_ops, " ops in ", program.num_blocks(), program.num_blocks() == 1 ? " block, " : " blocks, ",
                   facts.num_weights, " weights, ", HumanBytes(facts.weight_bytes), "\n");
  absl::StrAppend(&out, "feeds\n", Signature(program.feeds, program), "fetches\n", Signature(program.fetches, program));
  absl::StrAppend(&out, "precision\n");
  absl::StrAppend(&out, "  ops: ", facts.low_ops, " low, ", facts.float_ops - facts.low_ops, " fp32, ",
                  facts.num_ops - facts.float_ops - facts.casts, " without floats\n");
  absl::StrAppend(&out, "  conv and matmul flops: ", facts.FlopsText(), "\n");
  absl::StrAppend(&out, "  casts: ", facts.casts,
                  facts.inserted_casts > 0 ? absl::StrCat(", of which AMP inserted ", facts.inserted_casts) : "", "\n");
  for (const auto& [dtype, count] : facts.weights_by_dtype) {
    absl::StrAppend(&out, "  weights ", Name(dtype), ": ", count.first, ", ", HumanBytes(count.second), "\n");
  }
  console.Out(out);
  std::vector<std::vector<std::string>> rows = {{"op", "count", "low"}};
  std::vector<std::pair<std::string, std::pair<int, int>>> types(facts.ops_by_type.begin(), facts.ops_by_type.end());
  std::stable_sort(types.begin(), types.end(),
                   [](const auto& a, const auto& b) { return a.second.first > b.second.first; });  // else by name
  for (const auto& [type, count] : types) rows.push_back({type, absl::StrCat(count.first), absl::StrCat(count.second)});
  console.Out(FormatTable(rows));
  for (const std::string& type : facts.opaque_types)
    console.Out(absl::StrCat("no record for op '", Printable(type), "': kept as it is, not executed\n"));
}

void PrintWeights(Console& console, const Program& program) {
  std::vector<std::vector<std::string>> rows = {{"weight", "type", "bytes"}};
  ForEachVar(program, [&](const Var& v) {
    if (v.weight != nullptr) rows.push_back({v.exported(), PrintType(v.type, program), absl::StrCat(v.weight->bytes)});
  });
  console.Out(FormatTable(rows));
}

// The plan of a run with the dims, that is.
absl::Status PrintPlan(const InspectFlags& flags, Console& console) {
  AMPC_ASSIGN_OR_RETURN(const Session session, Session::Load(flags.model, {.threads = flags.threads, .params = flags.params}));
  AMPC_ASSIGN_OR_RETURN(const std::vector<TensorMap> feeds, BenchFeeds(session, {}, flags.dims, {1}));
  for (const TensorMap& one : feeds) {
    AMPC_ASSIGN_OR_RETURN(const std::string text, session.PlanText(one));
    console.Out(text);
  }
  return absl::OkStatus();
}

absl::Status Run(const InspectFlags& flags, Console& console) {
  if (flags.plan && (flags.text || flags.json || flags.weights))
    return UsageError("--plan is printed alone: leave out --text, --json and --weights");
  if (!flags.plan && (!flags.dims.empty() || flags.threads != 0)) return UsageError("--dims and --threads belong to --plan");
  if (flags.plan) return PrintPlan(flags, console);
  const Progress progress(console, "loading");
  AMPC_ASSIGN_OR_RETURN(const Program program, LoadModel(flags.model, {.params = flags.params}));
  if (flags.text) {
    PrintOptions options;
    options.brief = true;
    console.Out(PrintProgram(program, options));
    return absl::OkStatus();
  }
  const ModelFacts facts = FactsOf(program);
  if (flags.json) {
    console.Out(InspectJson(flags.model, program));
    return absl::OkStatus();
  }
  PrintText(console, flags, program, facts);
  if (flags.weights) PrintWeights(console, program);
  return absl::OkStatus();
}

}  // namespace

Command InspectCommand() {
  return {
      "inspect", "prints a model's signature, ops, types, weights and casts",
      "  ampc inspect model.pdmodel\n"
      "  ampc inspect model_fp16.pdmodel --json\n"
      "  ampc inspect model.pdmodel --text      the program as text, literals shortened\n"
      "  ampc inspect model_bf16.pdmodel --plan --dims x=1,3,48,320      how it runs here: kernels, memory, the types in which values lie",
      [](Options options) -> Action {
        auto flags = std::make_shared<InspectFlags>();
        options.Add("model", flags->model, kModelHelp).Required();
        options.Add("--params", flags->params, "file with the weights").Values("FILE");
        options.Flag("--weights", flags->weights, "list every weight too");
        options.Flag("--text", flags->text, "print the program as text instead");
        options.Flag("--plan", flags->plan, "print the steps of a run instead: op, kernel, places, the type in which each result lies");
        options.Add("--dims", flags->dims, "of --plan: NAME=1,3,48,320, dims of a feed").Values("NAME=DIMS");
        options.Add("--threads", flags->threads, "of --plan; 0: all processors");
        AddJsonFlag(options, &flags->json);
        return [flags](Console& console) { return Run(*flags, console); };
      }};
}

}  // namespace ampc
