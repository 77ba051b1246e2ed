// Command slipway turns machines into Kubernetes clusters and keeps them that way. It is the command line, the controllers
// and the embedded management plane in one binary; called kubectl-slipway it is a kubectl plugin.
package main

import (
	"os"

	"slipway.dev/slipway/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.Environment{
		Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, RunPlane: runPlane,
	}))
}
