// Package workload serves the Kubernetes API of simulated workload clusters: many of them, in one process.
//
// # Shape
//
//	            one Server                             one Cluster each
//	┌───────────────────────────────┐      ┌─────────────────────────────────┐
//	│ kinds, codecs, schemas,       │      │ listener ─ TLS ─ authn ─ RBAC   │
//	│ OpenAPI documents, discovery, │◄─────┤ Store: entries, change log      │
//	│ HTTP handlers, file flusher   │      │ journal: one file               │
//	└───────────────────────────────┘      └─────────────────────────────────┘
//
// Everything that does not differ between clusters is built once and shared. A cluster that nobody talks to has
// one goroutine waiting in accept, no timers, and a few kilobytes a stored object.
//
// # Why objects are kept as JSON
//
// An entry is the compact JSON of the typed object, without its resourceVersion, beside the few values that are
// searched (namespace, name, UID, labels, owners). That is the smallest form (a Go struct of a Node is a tree of
// some two hundred allocations, its JSON is one), costs the garbage collector nothing, is what is written to the
// file, and is what clients ask for: get, list and watch copy bytes and splice in the resourceVersion, so a
// read decodes nothing. Only writes, field selectors and Tables build the typed struct. Decoding into
// the typed struct on every write is what refuses or reports unknown fields.
//
// # Writes
//
//	decode ─► produce next object ─► rules of the kind ─► managed fields ─► encode ─► compare-and-swap ─► file
//
// Everything up to the swap runs outside the store's lock on a snapshot; a lost race computes again. A write that
// changes no byte is no write. One transaction (an object, and what follows from it: dependents, an
// emptied namespace, a PDB's status) is one checksummed frame in the file, so a crash keeps all of it or
// nothing. The caller waits until its frame is synced; frames of one cluster that arrive meanwhile share a sync. Readers
// see a change before that. When the disk refuses (it is full), the writer gets the error, memory stays ahead of the
// file, and the next write rewrites the whole file.
//
// Managed fields are tracked for objects made through HTTP and for any object from its first server-side apply
// on. What the simulator writes itself is not tracked until then: it saves half the memory of a Node.
//
// # Resource versions
//
// They start at a value taken from the clock and go up by one a change. The file holds a reservation that is always ahead
// of them, so they never go back: neither after a restart (changes of leases and events are not in the
// file), nor when the file was lost. After a restart every older version is answered 410 Gone.
//
// # Heartbeats
//
// No write keeps nodes fresh. Hooks.Heartbeat tells when a node was last heard of, and readers see that time
// in the Lease's renewTime and in the Node's lastHeartbeatTime.
package workload
