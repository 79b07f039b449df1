// ampc completion: what makes a shell complete the verbs and options of this command.
#include "passes/pass.h"
#include "tools/bench/networks.h"
#include "tools/cli/command.h"
#include "tools/cli/completion.h"
#include "tools/train/request.h"

namespace ampc {
namespace {

std::vector<CompletionValues> Values() {
  CompletionValues networks{"train", "network", {}};
  for (const NetworkInfo& info : Networks()) networks.words.push_back(info.name);
  CompletionValues models{"bench", "model", {}, /*files=*/true};
  for (const BenchNetwork& network : BenchNetworks()) models.words.push_back(network.name);
  CompletionValues passes{"opt", "--passes", {}, /*files=*/false, /*list=*/true};
  for (const PassInfo* info : Passes().All()) passes.words.push_back(info->name);
  return {networks, models, passes};
}

}  // namespace

Command CompletionCommand() {
  return {"completion", "prints what makes a shell complete verbs, options and their values",
          "  ampc completion bash > ~/.local/share/bash-completion/completions/ampc\n"
          "  ampc completion zsh > ~/.zfunc/_ampc                                      a folder of $fpath\n"
          "  ampc completion fish > ~/.config/fish/completions/ampc.fish",
          [](Options options) -> Action {
            auto shell = std::make_shared<std::string>();
            options.Add("shell", *shell, "whose language to write").Required().OneOf({"bash", "zsh", "fish"});
            return [shell, options](Console& console) {
              console.Out(CompletionScript(options, *shell, Values()));
              return absl::OkStatus();
            };
          }};
}

}  // namespace ampc
