package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

const exitCodesText = `What slipway tells its caller:

  0    done, or nothing to do
  1    failed; the error says what, why, where and what to do
  2    kept for plans: it worked and there are changes
  3    asked, and the answer is no: status or --wait ended unhealthy or ran out of time; the last state was printed
  4    refused: a safety rule, or consent was missing; nothing was changed
  130  interrupted; what goes on in the plane was said`

const waitingText = `Commands that start long work return once it is asked for: the plane does it, whether you look or not.

--wait stays until the objects themselves say that they are done for what was asked last: the cluster is available, and every
part of it has as many machines as it wants, all up to date. On a terminal the cluster's tree is redrawn; elsewhere each
change is a line, with the time (UTC) first.

--for-stable 30s waits on until that has held for 30 seconds without a break. SIGUSR1 (and Ctrl-T, where the system has it)
prints what is still open.

It ends with exit code 3 when the cluster cannot get there by itself any more, or when --timeout is over: 10 minutes for
create, 30 for upgrade and rollout, 5 for others. The last state and the first cause are printed. --timeout 0 looks once.

Ctrl-C stops looking, not the work. Nothing is rolled back.`

const contextsText = `Which management cluster a command works on:

  1. --context
  2. $SLIPWAY_CONTEXT
  3. the context "slipway" that ` + "`slipway up`" + ` wrote, whatever it had to call it; else any that is called "slipway"
  4. the current context of the kubeconfig

The kubeconfig is that of --kubeconfig, else of $KUBECONFIG, else ~/.kube/config. A plane on a state directory of its own is
the context slipway-DIRECTORY. The namespace is that of -n, else the context's, else "default".`

const environmentText = `Every global flag but --yes has an environment variable: SLIPWAY_ and the flag's name in capitals, with _ for -. Flags win.

  SLIPWAY_CONTEXT, SLIPWAY_KUBECONFIG, SLIPWAY_NAMESPACE, SLIPWAY_OUTPUT, SLIPWAY_COLOR, ...

KUBECONFIG lists kubeconfig files as for kubectl. NO_COLOR, FORCE_COLOR and CLICOLOR_FORCE decide about colour where --color
does not. There is no configuration file.`

const pluginText = `Called kubectl-slipway the program is a plugin of kubectl; called kubectl_complete-slipway it completes there. Two links do:

  ln -s "$(command -v slipway)" ~/.local/bin/kubectl-slipway
  ln -s "$(command -v slipway)" ~/.local/bin/kubectl_complete-slipway

Then ` + "`kubectl slipway get clusters`" + ` does what ` + "`slipway get clusters`" + ` does.`

const statesText = `The words for how clusters and machines fare:

  Ready     as it was asked for
  Working   being changed, within the time that takes
  Waiting   something that is named must happen first
  Stuck     takes longer than it should, or needs you
  Failed    will not get there by itself
  Paused    left alone on purpose
  Unknown   cannot be seen
  Deleting  on its way out`

const providersText = `A provider makes the machines of a cluster. Which are installed, ` + "`slipway status`" + ` tells.

  sim    simulated machines in the management plane's process, with a working API endpoint for each cluster: to learn, to test
         and to measure. Their failures are fields of SimMachineTemplate.

` + "`slipway create cluster --provider`" + ` knows these. Other providers of the Cluster API bring kinds and a controller of their own: apply
their files, then your cluster's.`

// helpCommand takes the place of cobra's, which prints that a topic is unknown and ends well.
func helpCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND | TOPIC]", Short: "Help about any command or topic",
		Example: `  slipway help create cluster
  slipway help exit-codes`,
		ValidArgsFunction: completeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			asked := cmd.Root()
			for _, arg := range args {
				below, _, err := asked.Find([]string{arg})
				if err != nil || below == asked {
					return noHelp(a, asked, arg)
				}
				asked = below
			}
			asked.InitDefaultHelpFlag()
			return asked.Help()
		},
	}
}

func noHelp(a *app, asked *cobra.Command, typed string) error {
	e := noCommand(asked, typed)
	e.What, e.Where = "cannot help with "+typed, "usage: "+a.try("help [COMMAND | TOPIC]")
	if asked.HasParent() {
		return e
	}
	e.Cause = strings.Replace(e.Cause, "it has no command", "there is no command or topic", 1)
	e.Try = strings.Replace(e.Try, a.name+" ", a.name+" help ", 1)
	if strings.HasSuffix(e.Try, "--help") {
		e.Try = a.try("help")
	}
	return e
}

// completeHelp offers the commands and topics.
func completeHelp(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	asked, _, err := cmd.Root().Find(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, c := range asked.Commands() {
		if !c.Hidden {
			names = append(names, c.Name()+"\t"+c.Short)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// topics are helps that belong to no command.
func topics() []*cobra.Command {
	topic := func(name, short, text string) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Long: text}
	}
	return []*cobra.Command{
		topic("exit-codes", "What the program tells its caller", exitCodesText),
		topic("waiting", "What --wait waits for, and when it ends", waitingText),
		topic("contexts", "Which management cluster a command works on", contextsText),
		topic("environment", "Which variables are read", environmentText),
		topic("kubectl-plugin", "How to call it as kubectl slipway", pluginText),
		topic("providers", "What makes the machines of a cluster", providersText),
		topic("states", "The words for how clusters and machines fare", statesText),
	}
}
