package world

import (
	"hash/fnv"
	"net/netip"
	"time"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Machine is what a simulated machine is made from.
type Machine struct {
	// Name is the machine's host name.
	Name string
	// UID tells the machine from another of the same name, before or after it.
	UID types.UID
	// ProviderID is what its Node will bear.
	ProviderID string
	// Zone is the failure domain it is in, or empty.
	Zone string
	// Version is the Kubernetes version installed on it.
	Version semver.Version
	// CPU and Memory are what its Node offers.
	CPU, Memory resource.Quantity
}

// Record is a machine that has booted and run kubeadm, as the cluster's file keeps it.
type Record struct {
	// UID is that of the Machine. It is empty in files from before it was kept, until AilMachine fills it in.
	UID types.UID `json:"uid,omitempty"`
	// Node is the name of its Node.
	Node string `json:"node"`
	// ControlPlane tells whether it runs a control plane.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// Version is its Kubernetes version, with its v.
	Version string `json:"version"`
	// Zone is the failure domain it is in.
	Zone string `json:"zone,omitempty"`
	// Booted is when it had booted.
	Booted time.Time `json:"booted"`
	// Gone tells that the machine has vanished behind the provider's back.
	Gone bool `json:"gone,omitempty"`
	// Lost and EtcdDead tell that its kubelet is not heard of and that its etcd member does not run.
	Lost     bool `json:"lost,omitempty"`
	EtcdDead bool `json:"etcdDead,omitempty"`
	// LostSince is when it was last heard of, zero while it is well.
	LostSince time.Time `json:"lostSince,omitzero"`
}

// Is tells whether the record is that of the machine with a UID, as far as is known.
func (r Record) Is(uid types.UID) bool { return r.UID == "" || r.UID == uid }

// Address is the address of a machine by its name: always the same, in 10.0.0.0/8.
func Address(name string) netip.Addr {
	h := fnv.New32a()
	h.Write([]byte(name))
	sum := h.Sum32()
	return netip.AddrFrom4([4]byte{10, byte(sum >> 16), byte(sum >> 8), byte(sum)%254 + 1})
}
