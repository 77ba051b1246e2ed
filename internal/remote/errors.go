package remote

import "errors"

var (
	// ErrNotConnected is returned by everything that needs a connection to a workload cluster while there is none.
	// Whether one is to be expected is told by Clusters.Status. Callers wait for an event of Clusters.Source.
	ErrNotConnected = errors.New("not connected to the workload cluster")

	// ErrNodeNotFound is returned by NodeLister for a Node which the connected cluster does not have.
	ErrNodeNotFound = errors.New("no such Node in the workload cluster")

	// ErrAmbiguousProviderID is returned by NodeLister.ByProviderID when several Nodes carry the same provider ID:
	// which of them is meant is then for a human to say, never for us to guess.
	ErrAmbiguousProviderID = errors.New("several Nodes carry the same provider ID")

	// ErrEtcdUnmanaged is returned by Clusters.Etcd when the Secret of the cluster's etcd CA is missing or holds no key,
	// as with external etcd: its members are then not ours to manage.
	ErrEtcdUnmanaged = errors.New("the key of the cluster's etcd CA is not known, so its members cannot be managed")

	// ErrNoEtcdMember is returned by Clusters.Etcd when no etcd member answers that may be asked.
	ErrNoEtcdMember = errors.New("no etcd member can be reached")
)

// errMalformed marks a kubeconfig that no retry makes usable.
var errMalformed = errors.New("the kubeconfig cannot be used")
