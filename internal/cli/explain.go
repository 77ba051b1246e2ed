package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"slipway.dev/slipway/internal/fault"
)

// explain turns any error into four parts in the user's terms.
func (a *app) explain(cmd *cobra.Command, err error) *fault.Error {
	var known *fault.Error
	if errors.As(err, &known) {
		return known
	}
	what := "cannot run " + cmd.CommandPath()
	if text := err.Error(); strings.HasPrefix(text, "unknown command") {
		return a.unknownCommand(cmd, text)
	} else if isFlagError(text) {
		return fault.New(err, what, text, "usage: "+cmd.UseLine(), cmd.CommandPath()+" --help")
	}
	if meta.IsNoMatchError(err) {
		return fault.New(err, what, "the management cluster does not know this kind: "+err.Error(), a.where(), "install its CRD, or use the management plane of "+a.try("up"))
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return a.explainStatus(what, err)
	}
	if e := a.explainNetwork(what, err); e != nil {
		return e
	}
	return fault.New(err, what, err.Error(), "", cmd.CommandPath()+" --help")
}

func isFlagError(text string) bool {
	for _, start := range []string{"unknown flag", "unknown shorthand", "flag needs", "invalid argument", "bad flag", "if any flags", "required flag"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// unknownCommand names the nearest commands.
func (a *app) unknownCommand(cmd *cobra.Command, text string) *fault.Error {
	first, _, _ := strings.Cut(text, "\n")
	try := cmd.CommandPath() + " --help"
	if _, quoted, found := strings.Cut(first, `"`); found {
		typed, _, _ := strings.Cut(quoted, `"`)
		if near := cmd.SuggestionsFor(typed); len(near) > 0 {
			try = cmd.CommandPath() + " " + strings.Join(near, ", ")
		}
	}
	return fault.New(nil, "cannot run "+cmd.CommandPath(), first, "", try)
}

func (a *app) explainStatus(what string, err error) *fault.Error {
	switch {
	case apierrors.IsNotFound(err):
		return fault.New(err, what, err.Error(), a.where(), a.try("get clusters -A"))
	case apierrors.IsForbidden(err):
		return fault.New(err, what, err.Error(), a.where(), "use a context whose user may do that: --context, or ask for the right")
	case apierrors.IsUnauthorized(err):
		return fault.New(err, what, "the API server does not accept these credentials; those of a plane are renewed when it runs", a.where(), a.try("up"))
	case apierrors.IsInvalid(err):
		return fault.New(err, what, strings.TrimPrefix(err.Error(), "admission webhook "), a.where(), "correct what the cause names")
	case apierrors.IsConflict(err):
		return fault.New(err, what, err.Error(), a.where(), "another writer owns these fields: change them there, or look again and repeat the command")
	default:
		return fault.New(err, what, err.Error(), a.where(), a.try("status"))
	}
}

// explainNetwork explains why the API server was not reached; nil when the error is another.
func (a *app) explainNetwork(what string, err error) *fault.Error {
	var where *url.Error
	var network net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault.New(err, what, "nothing answers at the address of the management cluster: is the plane running?", a.whereURL(err), a.try("up --detach"))
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return fault.New(err, what, "the management cluster did not answer in time", a.whereURL(err), a.try("status"))
	case errors.As(err, &where):
		return fault.New(err, what, where.Err.Error(), a.whereURL(err), a.try("status"))
	}
	return nil
}

func (a *app) whereURL(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		if parsed, errParse := url.Parse(u.URL); errParse == nil {
			return fmt.Sprintf("%s, %s", parsed.Scheme+"://"+parsed.Host, a.where())
		}
	}
	return a.where()
}
