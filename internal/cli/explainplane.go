package cli

import (
	"regexp"
	"strings"

	"slipway.dev/slipway/internal/fault"
)

// contextMark is the name of the context in use, and whose it says that it is; empty when there is none, or it says nothing.
func (a *app) contextMark() (name, mark string) {
	loaded, name, err := a.clientConfig()
	if err != nil {
		return "", ""
	}
	raw, err := loaded.RawConfig()
	if err != nil || raw.Contexts[name] == nil {
		return "", ""
	}
	if cluster := raw.Clusters[raw.Contexts[name].Cluster]; cluster != nil {
		mark = markOf(cluster)
	}
	return name, mark
}

// planeOfContext is the state directory of the plane that the context in use leads to, as far as the kubeconfig tells.
func (a *app) planeOfContext() (string, bool) {
	name, mark := a.contextMark()
	if dir, found := strings.CutPrefix(mark, planeMark); found {
		return dir, true
	}
	return a.defaultStateDir(), mark == "" && name == planeContext
}

// noAnswer says that nothing listens at the address of the context in use, and which plane should: starting another one would
// not help.
func (a *app) noAnswer(err error, what string) *fault.Error {
	if dir, known := a.planeOfContext(); known {
		return fault.New(err, what, "nothing answers at the address of the management cluster: the plane on "+a.tilde(dir)+" is down, or starts just now", a.whereURL(err), a.withStateDir("up --detach", dir))
	}
	return fault.New(err, what, "nothing answers at the address of the management cluster", a.whereURL(err), "see that its API server runs, or choose another with --context")
}

// planeRemedy is to start the plane that the context in use leads to, or, when that is none, the other remedy.
func (a *app) planeRemedy(otherwise string) string {
	if dir, known := a.planeOfContext(); known {
		return a.withStateDir("up --detach", dir)
	}
	return otherwise
}

// planeCommands are the commands in a suggestion that act on one plane.
var planeCommands = regexp.MustCompile(`slipway (up|down|status|backup|logs plane)\b`)

// aboutPlane makes what an error suggests mean the plane in question: those who wrote the error do not know how the user named
// it. A flag that stands there stays.
func (a *app) aboutPlane(e *fault.Error) *fault.Error {
	starts := planeCommands.FindAllStringSubmatchIndex(e.Try, -1)
	told := *e
	for i := len(starts) - 1; i >= 0; i-- {
		end := len(told.Try)
		if i+1 < len(starts) {
			end = starts[i+1][0] // what stands before it has not been changed yet
		}
		begin, after := starts[i][2], starts[i][3]
		told.Try = told.Try[:after] + a.scopeOf(e.Try[begin:after], told.Try[after:end]) + told.Try[after:]
	}
	return &told
}
