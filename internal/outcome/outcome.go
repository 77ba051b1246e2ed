// Package outcome names the ways in which a step of a reconcile can end besides success: it waits, it stalls until a
// person acts, or it failed and is tried again.
package outcome

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// conflictDelay is how long after a lost race the reconcile runs again. The event of the other write usually comes
// first; the delay is for the case where that event was already being handled.
const conflictDelay = 200 * time.Millisecond

// Wait says that a step is not done yet, and that nothing is wrong.
type Wait struct {
	// After is when to look again at the latest. Zero means that an event will wake the reconcile and no timer is set.
	After time.Duration
	// Reason is one CamelCase word, fit for a condition.
	Reason string
	// Message is a sentence for a person: what is waited for and what comes next. It holds no time stamps or counts.
	Message string
	// Quiet marks what no user should see: a lagging cache, a lost race. Reports skip it and leave conditions alone.
	Quiet bool
}

// Error makes a Wait an error, so that it travels through the steps like one.
func (w *Wait) Error() string {
	return "waiting: " + text(w.Reason, w.Message)
}

// Waiting returns a Wait as an error.
func Waiting(after time.Duration, reason, format string, args ...any) error {
	return &Wait{After: after, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Quietly returns a Wait that no condition mentions.
func Quietly(after time.Duration, reason, format string, args ...any) error {
	return &Wait{After: after, Reason: reason, Message: fmt.Sprintf(format, args...), Quiet: true}
}

// Stall says that nothing will change until a person changes something. It is not retried with back-off.
type Stall struct {
	// Reason is one CamelCase word, fit for a condition.
	Reason string
	// Message is a sentence for a person that says what is wrong and how to mend it.
	Message string
	// Recheck is when to look again where mending the cause makes no event that we watch. Zero means never.
	Recheck time.Duration
	// Err is the cause, if there is one.
	Err error
}

// Error makes a Stall an error, so that it travels through the steps like one.
func (s *Stall) Error() string {
	if s.Err == nil {
		return "stalled: " + text(s.Reason, s.Message)
	}
	return "stalled: " + text(s.Reason, s.Message) + ": " + s.Err.Error()
}

// Unwrap returns the cause.
func (s *Stall) Unwrap() error { return s.Err }

// Stalled returns a Stall as an error.
func Stalled(reason, format string, args ...any) error {
	return &Stall{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// AsWait returns the first Wait in err's tree.
func AsWait(err error) (*Wait, bool) { return errors.AsType[*Wait](err) }

// AsStall returns the first Stall in err's tree.
func AsStall(err error) (*Stall, bool) { return errors.AsType[*Stall](err) }

// IsQuiet reports whether err holds only what users should not see: quiet waits and lost races. It is false for nil.
func IsQuiet(err error) bool {
	if err == nil {
		return false
	}
	for _, leaf := range leaves(err) {
		if w, ok := AsWait(leaf); ok && w.Quiet {
			continue
		}
		if !apierrors.IsConflict(leaf) {
			return false
		}
	}
	return true
}

// Result turns what the steps of a reconcile returned into what controller-runtime wants. A plain error wins and is
// retried with back-off; else the shortest timer of all waits, stalls and lost races is set. Beside an error the timer is
// in a *Failure, for a Punctual to keep. Joined errors are taken apart. Nil errors are skipped.
func Result(errs ...error) (reconcile.Result, error) {
	var after time.Duration
	var failed []error
	for _, err := range errs {
		for _, leaf := range leaves(err) {
			delay, handled := timer(leaf)
			if !handled {
				failed = append(failed, leaf)
				continue
			}
			after = Sooner(after, delay)
		}
	}
	switch err := errors.Join(failed...); {
	case err != nil && after > 0:
		return reconcile.Result{}, &Failure{Err: err, After: after}
	case err != nil:
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

// Sooner returns the shorter of two timers, where zero means that no timer is set.
func Sooner(a, b time.Duration) time.Duration {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	default:
		return min(a, b)
	}
}

func timer(err error) (time.Duration, bool) {
	if w, ok := AsWait(err); ok {
		return w.After, true
	}
	if s, ok := AsStall(err); ok {
		return s.Recheck, true
	}
	if apierrors.IsConflict(err) {
		return conflictDelay, true
	}
	return 0, false
}

// leaves takes joined errors apart, so that a wait beside a real error does not hide it. An error that wraps several
// for the sake of its text stays whole once it is neither of our types nor a plain join.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error }) // Only the outermost join is taken apart.
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, leaves(e)...)
	}
	return all
}

func text(reason, message string) string {
	switch {
	case message == "":
		return reason
	case reason == "":
		return message
	default:
		return reason + ": " + message
	}
}
