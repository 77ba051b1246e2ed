package webhooks

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nothingActs ends the sentences on what this version stores and ignores.
const nothingActs = "nothing acts on it in this version of Slipway"

// notActedOn refuses a field that a controller of the same kind would ignore: consequence says what would not happen.
func notActedOn(at *field.Path, consequence string) *field.Error {
	return field.Forbidden(at, nothingActs+": "+consequence+"; leave the field out")
}

// storedOnly returns the warnings about a kind that no controller acts on.
func storedOnly[S any](kind, consequence string) func(o, old *object[S]) []string {
	warning := kind + " is stored, but " + nothingActs + ": " + consequence
	return func(*object[S], *object[S]) []string { return []string{warning} }
}
