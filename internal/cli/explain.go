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
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return a.aboutPlane(known)
	}
	what := "cannot run " + cmd.CommandPath()
	if text := err.Error(); strings.HasPrefix(text, "unknown command") {
		_, quoted, _ := strings.Cut(text, `"`)
		typed, _, _ := strings.Cut(quoted, `"`)
		return noCommand(cmd, typed)
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

func (a *app) explainStatus(what string, err error) *fault.Error {
	switch {
	case apierrors.IsNotFound(err):
		return fault.New(err, what, err.Error(), a.where(), a.try("get clusters -A"))
	case apierrors.IsForbidden(err):
		return fault.New(err, what, err.Error(), a.where(), "use a context whose user may do that: --context, or ask for the right")
	case apierrors.IsUnauthorized(err):
		return fault.New(err, what, "the API server does not accept these credentials; those of a plane are renewed when it starts", a.where(), a.planeRemedy("sign in again, or choose another context with --context"))
	case apierrors.IsInvalid(err):
		return fault.New(err, what, serverSentence(err), a.where(), "correct what the cause names")
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
		return a.noAnswer(err, what)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return fault.New(err, what, "the management cluster did not answer in time", a.whereURL(err), a.try("status"))
	case errors.As(err, &where):
		return fault.New(err, what, where.Err.Error(), a.whereURL(err), a.try("status"))
	}
	return nil
}

func (a *app) whereURL(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		if parsed, errParse := url.Parse(u.URL); errParse == nil {
			return fmt.Sprintf("%s, %s", parsed.Scheme+"://"+parsed.Host, a.where())
		}
	}
	return a.where()
}

// serverSentence is what the API server says, without what it wraps its sentences into: each field with its mistake when it
// tells them apart, else the text after the name of the webhook.
func serverSentence(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	s := status.Status()
	if s.Details != nil && len(s.Details.Causes) > 0 {
		var lines []string
		for _, c := range s.Details.Causes {
			line := c.Message
			if c.Field != "" && c.Field != "<nil>" && !strings.HasPrefix(line, c.Field) {
				line = c.Field + ": " + line
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "\n")
	}
	if _, rest, found := strings.Cut(s.Message, "denied the request: "); found {
		return rest
	}
	return s.Message
}
