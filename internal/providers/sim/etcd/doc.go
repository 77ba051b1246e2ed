// Package etcd simulates the etcd of workload clusters: their membership, behind etcd's own gRPC calls.
//
// There is no raft and no data. A State is what the members would agree on, and a quorum of living voters is what they
// need to change it; what etcd refuses is refused with the same error, so that what talks to it cannot tell. All
// clusters share one gRPC server, which has no goroutine for a cluster that nobody is connected to: connections are
// pipes, and each carries the member at its far end, whose certificate it shows.
//
//	pod's port 2379 ──pipe──► TLS (the cluster's etcd CA) ──► shared gRPC server ──► Cluster ──► State ──► Storage
package etcd
