// ampc convert: a model in mixed precision.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/status_macros.h"
#include "runtime/convert/convert.h"
#include "runtime/convert/options.h"
#include "runtime/convert/report.h"
#include "tools/cli/command.h"
#include "tools/cli/convert_flags.h"
#include "tools/cli/heap.h"

namespace ampc {
namespace {

std::string Damage(const ConvertResult& result) {
  WeightDamage sum;
  int converted = 0;  // without those that were stored low before
  for (const auto& [name, damage] : result.damages) {
    converted += damage.elements > 0 ? 1 : 0;
    sum.elements += damage.elements;
    sum.clamped += damage.clamped;
    sum.flushed += damage.flushed;
    sum.subnormal += damage.subnormal;
  }
  return absl::StrCat(converted, " weights converted, ", sum.elements, " values: ", sum.clamped, " clamped, ", sum.flushed,
                      " became zero, ", sum.subnormal, " subnormal");
}

std::string Predicted(const Prediction& predicted) {
  const PredictedRun& run = predicted.run;
  std::string out =
      absl::StrCat("  predicted on ", predicted.device, predicted.feeds.empty() ? "" : " with ", predicted.feeds,
                   predicted.measured > 0 ? absl::StrCat(" and ", predicted.measured, " measured ops: ") : ": ", HumanSeconds(run.fp32),
                   " -> ", HumanSeconds(run.mixed), ", values in memory ", HumanBytes(static_cast<int64_t>(run.fp32_bytes)), " -> ",
                   HumanBytes(static_cast<int64_t>(run.mixed_bytes)), "\n");
  if (!predicted.faster()) absl::StrAppend(&out, "  warning: ", predicted.Warning(), "\n");
  return out;
}

void PrintText(Console& console, const ConvertFlags& flags, const ConvertResult& result) {
  const ModelFacts& after = result.after;
  const char* dtype = DTypeWord(result.options.dtype);
  std::string out = absl::StrCat(flags.options.output, ": ", HumanBytes(result.bytes_before), " -> ", HumanBytes(result.bytes_after),
                                 " in ", HumanSeconds(result.seconds()), "\n");
  absl::StrAppend(&out, "  ops: ", after.low_ops, " ", dtype, ", ", after.float_ops - after.low_ops, " fp32, ",
                  after.num_ops - after.float_ops - after.casts, " without floats; conv and matmul flops ", after.FlopsText(), "\n");
  absl::StrAppend(&out, "  casts: ", after.inserted_casts, " inserted, ", after.casts - after.inserted_casts, " of the model's own\n");
  absl::StrAppend(&out, "  ", Damage(result), "\n");
  if (const std::string lost = WeightLossText(result); !lost.empty()) absl::StrAppend(&out, "  ", lost, "\n");
  const Prediction& predicted = result.predicted;
  if (!predicted.none()) absl::StrAppend(&out, Predicted(predicted));
  console.Out(out);
}

absl::Status Run(ConvertFlags flags, Console& console) {
  PrepareHeapForLargeProgram();
  Progress progress(console, "loading");
  flags.options.progress = [&progress](const ConvertProgress& now) {
    now.total > 0 ? progress.Update(now.done, now.total) : progress.Stage(now.stage);
    return true;
  };
  AMPC_ASSIGN_OR_RETURN(const ConvertResult result, Convert(flags.options));
  for (const std::string& note : result.notes) console.Note(note);
  if (flags.json) {
    console.Out(SummaryJson(result));
  } else {
    PrintText(console, flags, result);
  }
  return absl::OkStatus();
}

}  // namespace

Command ConvertCommand() {
  return {
      "convert", "rewrites a trained model to mixed precision, weights included",
      "  ampc convert model.pdmodel -o model_fp16.pdmodel\n"
      "  ampc convert model.onnx -o model_fp16.onnx\n"
      "  ampc convert model.pdmodel -o model_bf16.pdmodel --dtype bf16 --report report.html   says why each op got its type\n"
      "  ampc convert model.pdmodel -o model_fp16.pdmodel --black-list softmax,layer_norm   keeps these in fp32\n"
      "  ampc convert model.pdmodel -o model_fp16.pdmodel --exclude upstream:logits --low-io=x,prob --write-config run.json\n"
      "  ampc convert model.pdmodel -o model_fp16.pdmodel --calibrate in.npz --save-ranges r.json   keeps fp32 what overflows in this run\n"
      "  ampc convert other.pdmodel -o other_fp16.pdmodel --config run.json                 the same choices again\n"
      "  ampc convert model.onnx -o model_fp16.onnx --plan-out p.json                       the decisions as a file to read, edit and "
      "compare\n"
      "  ampc convert new_export.onnx -o new_fp16.onnx --plan p.json                        the same decisions, for a model with other "
      "names\n"
      "  ampc convert model.pdmodel -o copy.pdmodel --level O0                              reads and writes, byte for byte\n"
      "Selectors:\n"
      "  softmax, fc_*, fc_[0-3].tmp_?           op type, or name of a value that the op defines; type:... and name:... only the one\n"
      "  reads:fc_0.w_0                          what reads that value or weight\n"
      "  'regex:fc_\\d+\\.tmp_0'                  the whole type or the whole name\n"
      "  block:0, scope:/encoder/, region:1      the block, start of the name scope, fp16_guard region\n"
      "  upstream:X, downstream:X                X (a selector, a feed or a weight) and what leads to it, or follows from it\n"
      "  'downstream:a & upstream:b'             both hold: what lies between\n"
      "Which wins: what cannot be low stays fp32, then --include, then --exclude, --black-vars and --black-list, then what the\n"
      "program needs in fp32 (shapes, indices, epsilons), --guard, --white-list, and last the op's own class at that --level.",
      [](Options options) -> Action {
        auto flags = std::make_shared<ConvertFlags>();
        AddConvertOptions(options, *flags);
        AddJsonFlag(options, &flags->json);
        return [flags, options](Console& console) {
          flags->options.command = options.CommandLine();
          AMPC_RETURN_IF_ERROR(ResolveConvertFlags(options, *flags));
          return Run(*flags, console);
        };
      }};
}

}  // namespace ampc
