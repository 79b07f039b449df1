// ampc completion: what makes a shell complete the verbs and options of this command.
#include "tools/cli/command.h"
#include "tools/cli/completion.h"

namespace ampc {

Command CompletionCommand() {
  return {"completion", "prints what makes a shell complete verbs, options and their values",
          "  ampc completion bash > ~/.local/share/bash-completion/completions/ampc\n"
          "  ampc completion zsh > ~/.zfunc/_ampc                                      a folder of $fpath\n"
          "  ampc completion fish > ~/.config/fish/completions/ampc.fish",
          [](Options options) -> Action {
            auto shell = std::make_shared<std::string>();
            options.Add("shell", *shell, "whose language to write").Required().OneOf({"bash", "zsh", "fish"});
            return [shell, options](Console& console) {
              console.Out(CompletionScript(options, *shell));
              return absl::OkStatus();
            };
          }};
}

}  // namespace ampc
