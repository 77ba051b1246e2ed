package cli

import "github.com/spf13/cobra"

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

It ends with exit code 3 when the cluster cannot get there by itself any more, or when --timeout is over: 10 minutes for
create, 30 for upgrade and rollout, 5 for others. The last state and the first cause are printed. --timeout 0 looks once.

Ctrl-C stops looking, not the work. Nothing is rolled back.`

const contextsText = `Which management cluster a command works on:

  1. --context
  2. $SLIPWAY_CONTEXT
  3. the context "slipway", which ` + "`slipway up`" + ` writes, when there is one
  4. the current context of the kubeconfig

The kubeconfig is that of --kubeconfig, else of $KUBECONFIG, else ~/.kube/config. A plane on a state directory of its own is
the context slipway-DIRECTORY. The namespace is that of -n, else the context's, else "default".`

const statesText = `The words for how clusters and machines fare:

  Ready     as it was asked for
  Working   being changed, within the time that takes
  Waiting   something that is named must happen first
  Stuck     takes longer than it should, or needs you
  Failed    will not get there by itself
  Paused    left alone on purpose
  Unknown   cannot be seen
  Deleting  on its way out`

// topics are helps that belong to no command.
func topics() []*cobra.Command {
	topic := func(name, short, text string) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Long: text}
	}
	return []*cobra.Command{
		topic("exit-codes", "What the program tells its caller", exitCodesText),
		topic("waiting", "What --wait waits for, and when it ends", waitingText),
		topic("contexts", "Which management cluster a command works on", contextsText),
		topic("states", "The words for how clusters and machines fare", statesText),
	}
}
