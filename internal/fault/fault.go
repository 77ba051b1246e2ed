// Package fault is the error that users read: what failed, why, where, and what to do.
package fault

import (
	"errors"
)

// Error is a failure in four parts, for people: what failed, why, where, and what to do.
type Error struct {
	// What failed, as a phrase without a full stop.
	What string `json:"what"`
	// Cause is the reason in the user's terms.
	Cause string `json:"cause"`
	// Where is the file, address or object in question.
	Where string `json:"where,omitempty"`
	// Try is the command or step that mends it.
	Try string `json:"try,omitempty"`
	// Code is set where a program must tell this failure from others.
	Code string `json:"code,omitempty"`
	err  error
}

// Error renders the four parts on one line.
func (e *Error) Error() string {
	s := e.What + ": " + e.Cause
	if e.Where != "" {
		s += " (" + e.Where + ")"
	}
	return s
}

// Unwrap returns the error that this one explains, or nil.
func (e *Error) Unwrap() error { return e.err }

// New returns an *Error in four parts that wraps err, which may be nil.
func New(err error, what, cause, where, try string) *Error {
	return &Error{What: what, Cause: cause, Where: where, Try: try, err: err}
}

// As returns err as an *Error, wrapping it with the given phrase and remedy when it is not one already.
func As(err error, what, try string) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return New(err, what, err.Error(), "", try)
}
