package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/fault"
)

const completionLong = `Print a script that completes commands, flags, names of clusters and versions in your shell.

  bash        echo 'source <(slipway completion bash)' >> ~/.bashrc
  zsh         echo 'source <(slipway completion zsh)' >> ~/.zshrc
  fish        slipway completion fish > ~/.config/fish/completions/slipway.fish
  PowerShell  Add-Content $PROFILE 'slipway completion powershell | Out-String | Invoke-Expression'

For ` + "`kubectl slipway`" + ` see ` + "`slipway help kubectl-plugin`" + `.`

func completionCommand(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print a shell's completion script", Long: completionLong,
		Example: `  slipway completion bash > ~/.local/share/bash-completion/completions/slipway`,
		Args:    oneArg("the shell"), ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
			return fault.New(nil, "cannot complete in "+args[0], fmt.Sprintf("there is no script for the shell %q", args[0]), "slipway completion "+args[0], a.try("completion bash|zsh|fish|powershell"))
		},
	}
}
