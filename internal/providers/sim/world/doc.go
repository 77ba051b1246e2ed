// Package world is what is simulated: machines that boot, run kubeadm on their bootstrap data, become Nodes, and fail as
// they are told to. It knows nothing of the management cluster; the sim provider's controllers tell it what shall be.
//
//	World ─┬─ Cluster ─┬─ workload API endpoint (a store, a listener)
//	       │           ├─ etcd membership
//	       │           └─ machines: what each is, and what ails it
//	       └─ Cluster …
//
// All that a cluster is lives in its one file (see package workload): its objects, its etcd membership, its CAs, and a
// record of every machine. A machine's record is written last, so that a crash in the middle of a boot is a boot that
// did not happen and is done again; every step is idempotent.
//
// Nothing here keeps time. A machine that needs a second to boot is booted by a call a second later, and a fault that
// lasts a minute ends with the next call after it; Next tells when that should come.
package world
