#include "tools/cli/peer_options.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace ampc {
namespace {

// Names in lower case with dashes, each with an answer, which holds for verbs with the options in it.
constexpr std::pair<absl::string_view, absl::string_view> kPeers[] = {
    {"--fp16", "it is --dtype fp16, the default of convert"},
    {"--half", "it is --dtype fp16, the default of convert"},
    {"--float16", "it is --dtype fp16, the default of convert"},
    {"--bf16", "it is --dtype bf16"},
    {"--bfloat16", "it is --dtype bf16"},
    {"--precision", "it is --dtype fp16 or bf16"},
    {"--low-precision-type", "it is --dtype fp16 or bf16"},
    {"--low-precision", "it is --dtype fp16 or bf16"},
    {"--mixed-precision", "it is --dtype fp16 or bf16"},
    {"--amp-level", "it is --level O0, O1 or O2"},
    {"--opt-level", "it is --level O0, O1 or O2"},
    {"--keep-io-types", "feeds and fetches keep their types unless --low-io is given"},
    {"--op-block-list", "it is --exclude TYPE,TYPE"},
    {"--op-types-to-exclude", "it is --exclude TYPE,TYPE"},
    {"--op-types-to-include", "it is --include TYPE,TYPE"},
    {"--node-block-list", "it is --exclude NAME,NAME"},
    {"--nodes-to-exclude", "it is --exclude NAME,NAME"},
    {"--nodes-to-include", "it is --include NAME,NAME"},
    {"--custom-white-list", "it is --white-list"},
    {"--custom-black-list", "it is --black-list"},
    {"--custom-black-varnames", "it is --black-vars"},
    {"--blacklist", "it is --black-list"},
    {"--whitelist", "it is --white-list"},
    {"--min-positive-val", "what small weights become is said by --on-tiny flush, subnormal or keep"},
    {"--max-finite-val", "what large weights become is said by --on-overflow clamp, keep or error"},
    {"--disable-shape-infer", "types are always inferred"},
    {"--calibration-data", "it is --calibrate in.npz"},
    {"--calibration-data-path", "it is --calibrate in.npz"},
    {"--data-max", "values that leave the range are found by --calibrate in.npz"},
    {"--init-max", "what large weights become is said by --on-overflow clamp, keep or error"},
    {"--opset", "operator sets are raised where the type needs it"},
    {"--int8", "quantised models are run; this command quantises none"},
    {"--quantize", "quantised models are run; this command quantises none"},
    {"--onnx", "the model is the first word without an option"},
    {"--model", "the model is the first word without an option"},
    {"--model-file", "the model is the first word without an option"},
    {"--model-filename", "the model is the first word without an option"},
    {"--model-path", "the model is the first word without an option"},
    {"--onnx-path", "the model is the first word without an option"},
    {"--params-filename", "it is --params FILE"},
    {"--params-file", "it is --params FILE"},
    {"--output-path", "it is -o FILE"},
    {"--output-file", "it is -o FILE"},
    {"--save-model", "it is -o FILE"},
    {"--save-engine", "it is -o FILE"},
    {"--saveengine", "it is -o FILE"},
    {"--save-outputs", "it is -o FILE"},
    {"--inputs", "it is --input FILE"},
    {"--input-file", "it is --input FILE"},
    {"--load-inputs", "it is --input FILE"},
    {"--loadinputs", "it is --input NAME=FILE"},
    {"--input-shapes", "it is --dims NAME=1,3,224,224"},
    {"--input-shape", "it is --dims NAME=1,3,224,224"},
    {"--shapes", "it is --dims NAME=1,3,224,224"},
    {"--shape", "it is --dims NAME=1,3,224,224"},
    {"--iterations", "it is --repeat N"},
    {"--iter", "it is --repeat N"},
    {"--warm-up", "the first run is timed by itself"},
    {"--batch-size", "it is --batch N"},
    {"--batch-size", "it is --dims NAME=N,..."},
    {"--learning-rate", "it is --lr X"},
    {"--base-lr", "it is --lr X"},
    {"--lr-scheduler", "it is --schedule"},
    {"--lr-schedule", "it is --schedule"},
    {"--warmup-steps", "it is --schedule ...+warmup:STEPS,FROM,TO"},
    {"--wd", "it is --weight-decay X"},
    {"--num-epochs", "it is --epochs N"},
    {"--num-train-epochs", "it is --epochs N"},
    {"--max-epochs", "it is --epochs N"},
    {"--max-steps", "it is --steps N"},
    {"--num-steps", "it is --steps N"},
    {"--gradient-accumulation-steps", "it is --accumulate N"},
    {"--accumulate-grad-batches", "it is --accumulate N"},
    {"--max-grad-norm", "it is --clip global-norm:N"},
    {"--gradient-clip-val", "it is --clip global-norm:N"},
    {"--clip-grad", "it is --clip global-norm:N"},
    {"--amp", "it is --level O1 or O2"},
    {"--use-amp", "it is --level O1 or O2"},
    {"--loss-scale", "it is --init-scale X"},
    {"--init-loss-scaling", "it is --init-scale X"},
    {"--checkpoint-dir", "it is --checkpoint FOLDER"},
    {"--ckpt-path", "it is --checkpoint FOLDER, with --resume to go on from there"},
    {"--resume-from-checkpoint", "it is --checkpoint FOLDER --resume"},
    {"--save-steps", "it is --checkpoint-every N"},
    {"--logging-steps", "it is --log-every N"},
    {"--log-interval", "it is --log-every N"},
    {"--data-dir", "it is --data FOLDER"},
    {"--data-path", "it is --data FOLDER"},
    {"--num-threads", "it is --threads N"},
    {"--intra-op-num-threads", "it is --threads N"},
    {"--use-gpu", "it is --device cuda:0"},
    {"--gpu", "it is --device cuda:0"},
    {"--cuda", "it is --device cuda:0"},
    {"--provider", "it is --device cpu or cuda:0"},
    {"--providers", "it is --device cpu or cuda:0"},
    {"--execution-provider", "it is --device cpu or cuda:0"},
    {"--backend", "it is --target cpu or cuda"},
    {"--backend", "it is --device cpu or cuda:0"},
    {"--verbosity", "it is --verbose"},
    {"--check-error-stat", "every statistic is printed; --tolerance, --rtol and --atol decide"},
    {"--validate", "it is ampc verify, and ampc compare for results"},
};

bool HasOptionsOf(absl::string_view answer, std::span<const std::string> known) {
  const std::vector<absl::string_view> words = absl::StrSplit(answer, absl::ByAnyChar(" ,"));
  return std::all_of(words.begin(), words.end(), [known](absl::string_view word) {
    return !absl::StartsWith(word, "-") || std::find(known.begin(), known.end(), word) != known.end();
  });
}

}  // namespace

std::string PeerHint(absl::string_view option, std::span<const std::string> known) {
  const std::string plain = absl::AsciiStrToLower(absl::StrReplaceAll(option, {{"_", "-"}}));
  const std::string name =
      absl::StartsWith(plain, "--") ? plain : absl::StrCat("-", plain);  // trtexec's and Polygraphy's have one dash, too
  if (std::find(known.begin(), known.end(), name) != known.end()) return absl::StrCat("; here it is ", name);
  for (const auto& [peer, answer] : kPeers) {
    if (name == peer && HasOptionsOf(answer, known)) return absl::StrCat("; here ", answer);
  }
  return "";
}

}  // namespace ampc
