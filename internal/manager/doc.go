// Package manager wires Slipway's controllers and webhooks to a Kubernetes API server: the embedded plane's or any other.
// Everything that runs is in one explicit list (controllers.go, webhooks.go).
package manager
