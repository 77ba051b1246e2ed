// Package remote is the one door into workload clusters. Whatever Slipway reads or changes inside a cluster that it
// manages, it does through a [Clusters]: Nodes, Pods, ConfigMaps, and etcd.
//
// # A connection a cluster
//
// A Cluster is reachable once its kubeconfig Secret exists and somebody answers at the server that the Secret names.
// Clusters learns of the Secret by an event (see [Clusters.Changed]), never by a timer. Each cluster is a small state
// machine:
//
//	                 Changed: Secret found
//	┌────────┐ ───────────────────────────────▶ ┌────────────┐ ◀──┐ attempt fails: wait 1 s, 2 s … 30 s,
//	│ Absent │                                  │ Connecting │ ───┘ or no longer than until the next Changed
//	└────────┘ ◀─────────────────────────────── └────────────┘
//	   ▲  ▲          Changed: Secret gone          │    ▲   ▲
//	   │  │                                        │    │   │ Changed: the kubeconfig is mended
//	   │  │                     /readyz answers,   │    │   └──────────────┐
//	   │  │                     Nodes listed       │    │                  │
//	   │  │                                        ▼    │            ┌───────────┐
//	   │  │ Changed: Secret gone          ┌───────────┐ │            │ Malformed │ the Secret holds nothing that
//	   │  └────────────────────────────── │ Connected │ │            └───────────┘ can be used: nothing is tried
//	   │                                  └───────────┘ │                  ▲
//	   │                                        │       │                  │
//	   │                                        └───────┘ ─────────────────┘
//	   │                     5 probes in a row fail, or the kubeconfig changed
//	   └── from anywhere, when the Secret or the Cluster is gone
//
// A connection is one TCP connection with HTTP/2 on it. It carries a watch of the Nodes and one of the control plane's
// static Pods, both kept in small stores with everything unneeded stripped, and the requests of the clients that
// [Clusters.Client] hands out. Nothing is discovered: the kinds we use are known beforehand (see kinds.go).
//
// # What is known, and since when
//
// Reads from the stores answer only while the cluster is connected; after that everything about it is unknown
// ([ErrNotConnected]), which is not the same as absent. [Clusters.Status] tells since when: the last time that the
// cluster answered, how many probes in a row have failed, and why. Any answer to any request counts as a probe, for it
// proves the same thing; a cluster that is in use is therefore not probed.
//
// # One dead cluster holds up no other
//
// All connecting, probing and listing is done by two pools of workers of equal size: one for clusters that answered
// last time, one for those that did not. Dead clusters that use up their deadlines can crowd out other dead clusters
// only. One goroutine holds the timetable for all clusters; there is no timer a cluster. Every request has a deadline
// and a bound on the size of its answer.
//
// # Telling controllers
//
// [Clusters.Source] and [Clusters.NodeSource] are event sources for controllers. A subscriber that is slow delays only
// itself: events wait in a set, so that the same news twice is one event.
//
// # etcd
//
// [Clusters.Etcd] reaches a cluster's etcd as kubectl would reach a Pod: by a port-forward through the API server to an
// etcd Pod, and in it TLS with a client certificate signed by the cluster's etcd CA, made in memory and short-lived.
// The member that is about to leave is never the one asked to arrange it, unless it is the only one.
package remote
