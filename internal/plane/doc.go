// Package plane is the embedded management plane: etcd, a Kubernetes API server without pods, the garbage collector and
// the namespace controller, in the process that runs it, on a directory that is its whole state.
//
// # Order at start
//
//	state directory (lock, version, free space)
//	  └─ certificates (made or renewed)
//	       └─ etcd (unix sockets in the state directory, no TCP)
//	            └─ API server (loopback; users get 503 with Retry-After until the plane is ready)
//	                 └─ the caller's controllers and webhooks (Options.Start), garbage collector, namespaces
//	                      └─ ready
//
// # Why one process and one directory
//
// A newcomer needs no kind, no Docker and no cert-manager, and a backup is a copy of one consistent snapshot. Whoever can
// reach etcd can read every cluster's CA key, so etcd has no TCP door at all and the directory is mode 0700.
//
// # What ends it
//
// Run returns when its context ends, or with an *fault.Error that says in a user's words what failed, why, where and what to do.
// etcd's own fatal errors end the process; whoever started the process (the supervisor of `slipway up`) reads the log and
// calls Diagnose to turn them into the same kind of error.
//
// This package carries k8s.io/kubernetes, which sets process-wide state and takes minutes to build cold; only
// cmd/slipway imports it.
package plane
