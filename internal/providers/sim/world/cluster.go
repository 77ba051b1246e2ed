package world

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/providers/sim/etcd"
	"slipway.dev/slipway/internal/providers/sim/workload"
)

// Names of the values in a cluster's file.
const (
	pkiValue      = "pki"
	machinesValue = "machines"
	faultsValue   = "faults"
	ailingValue   = "ailing"
)

// errClosed says that a cluster was closed or removed while somebody still had it in hand.
var errClosed = errors.New("the simulated cluster is closed")

// Cluster is one simulated cluster.
type Cluster struct {
	world *World
	place Place
	dir   string
	// aside is where load has put a file that it could not read.
	aside string

	mu       sync.Mutex        // guards what follows; it is not held while the API is served
	file     *workload.Cluster // open as soon as there is something to remember
	api      *workload.Cluster // the file, once kubeadm init has run and it is served
	members  *etcd.Cluster
	pki      certs.Set
	machines map[string]*machine
	ailing   Ailments
	starts   map[types.UID]map[string]time.Time // when the faults of objects began
	closed   bool
	// unsettled tells that settle went wrong, so that who looks next has to do it again.
	unsettled bool

	// watchful tells that a change of any Node may matter to a Pod.
	watchful atomic.Bool

	// hearts tells the workload API which nodes are alive. It has a lock of its own, for it is asked with the store locked.
	hearts hearts
}

// machine is a machine's record, shared by all who look at it.
type machine struct{ Record }

// Ailments are the faults of the cluster as a whole.
type Ailments struct {
	// Unreachable tells that the API endpoint refuses connections.
	Unreachable bool `json:"unreachable,omitempty"`
	// ZonesDown are the zones without power, sorted.
	ZonesDown []string `json:"zonesDown,omitempty"`
}

func (a Ailments) equal(b Ailments) bool {
	return a.Unreachable == b.Unreachable && slices.Equal(a.ZonesDown, b.ZonesDown)
}

// MachineAilments are the faults of one machine.
type MachineAilments struct {
	// Lost tells that its kubelet is not heard of.
	Lost bool
	// EtcdDead tells that its etcd member does not run.
	EtcdDead bool
	// Gone tells that the machine has vanished, for good.
	Gone bool
}

// Initialized tells whether a machine has run kubeadm init.
func (c *Cluster) Initialized() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.api != nil
}

// Machines returns the names of the machines that have run kubeadm, sorted.
func (c *Cluster) Machines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.machines))
}

// Knows tells whether a Node is in the cluster's file, which is not so when the file was lost.
func (c *Cluster) Knows(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.api != nil && workload.Has[*corev1.Node](c.api.Store(), types.NamespacedName{Name: node})
}

// Machine returns the record of a machine that has run kubeadm.
func (c *Cluster) Machine(name string) (Record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.machines[name]
	if !ok {
		return Record{}, false
	}
	return m.Record, true
}

// load opens the cluster's file and, if kubeadm init has run, serves it.
func (c *Cluster) load() error {
	err := c.open()
	corrupt := &workload.CorruptError{}
	if errors.As(err, &corrupt) {
		// It is rebuilt from the machines' specs, as a lost file is.
		return c.setAside(corrupt)
	}
	if err != nil {
		return err
	}
	for name, value := range map[string]any{pkiValue: &c.pki, machinesValue: &c.machines, faultsValue: &c.starts, ailingValue: &c.ailing} {
		if err := c.recall(name, value); err != nil {
			return fmt.Errorf("read its %s: %w", name, err)
		}
	}
	if len(c.pki) > 0 {
		c.api = c.file
		if !c.reachable() {
			// Serving begins with listening, if only for a moment.
			if err := c.api.SetReachable(false); err != nil {
				return err
			}
		}
		return c.serve()
	}
	if len(c.starts) > 0 || !c.ailing.equal(Ailments{}) {
		return nil
	}
	// A crash before kubeadm init got as far as its CAs: nothing happened.
	file := c.file
	c.file = nil
	return file.Remove()
}

// open opens the cluster's file, or makes it. The caller holds mu.
func (c *Cluster) open() error {
	if c.closed {
		return errClosed
	}
	if c.file != nil {
		return nil
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	file, err := c.world.workload.Open(c.place.Key, workload.Config{Dir: c.dir, ListenAddr: c.place.address(), Listen: c.listen, Hooks: c.hooks(), Version: "v1.0.0"})
	if err != nil {
		return err
	}
	c.file = file
	return nil
}

// serve gives the endpoint its certificates and opens the members' doors. The cluster is known to have its CAs.
func (c *Cluster) serve() error {
	ca, err := certs.NewAuthority(c.pki[certs.ClusterCA])
	if err != nil {
		return err
	}
	serving, err := ca.Issue(certs.Request{
		CommonName: "kube-apiserver", Hosts: c.servingHosts(), Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		// No client sees the difference, and an RSA key costs a tenth of a second.
		Algorithm: certs.ECDSAP256, Now: c.world.opts.Now(),
	})
	if err != nil {
		return err
	}
	// An endpoint that cannot be listened on keeps nobody from the rest: machines can be taken away, and settle tries again.
	unheard := c.api.SetCertificates(serving.Cert, serving.Key, ca.PEM)
	if unheard != nil && !isListenError(unheard) {
		return unheard
	}
	if err := c.openEtcd(); err != nil {
		return err
	}
	return errors.Join(unheard, c.settle())
}

func (c *Cluster) servingHosts() []string {
	hosts := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", "127.0.0.1"}
	if !slices.Contains(hosts, c.place.Host) {
		hosts = append(hosts, c.place.Host)
	}
	return hosts
}

func (c *Cluster) openEtcd() error {
	pair, ok := c.pki[certs.EtcdCA]
	if !ok || len(pair.Key) == 0 {
		return nil // An external etcd is not ours to simulate.
	}
	ca, err := certs.NewAuthority(pair)
	if err != nil {
		return err
	}
	c.members, err = c.world.etcd.Open(etcd.Config{
		Storage: c.api.Store(), ClientCAs: ca.Pool(),
		Certificate: func(member string) (*tls.Certificate, error) {
			cert, err := ca.IssueTLS(certs.Request{
				CommonName: member, Hosts: []string{member, "localhost", "127.0.0.1", Address(member).String()},
				Usages:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
				Algorithm: certs.ECDSAP256, Now: c.world.opts.Now(),
			})
			return &cert, err
		},
	})
	return err
}

// listen is for the API server behind the cluster's door. A door is known by the endpoint as it was asked for, whose host may be
// a name; the address that the API server has from it is another text.
func (c *Cluster) listen(string) (net.Listener, error) {
	d, err := c.world.doors.at(c.place.address(), c.place.tenant())
	if err != nil {
		return nil, err
	}
	return d.listen()
}

func (c *Cluster) hooks() workload.Hooks {
	return workload.Hooks{
		Heartbeat: func(node string) (time.Time, bool) { return c.hearts.beat(node, c.world.opts.Now()) },
		Changed: func(ch workload.Change) {
			if c.matters(ch) {
				c.world.tender.add(c)
			}
		},
		PodLog:  func(context.Context, *corev1.Pod, *corev1.PodLogOptions) (io.ReadCloser, error) { return podLog(), nil },
		PodDial: c.dialPod,
	}
}

// matters tells whether a change gives the tender something to do. What it wrote itself does not.
func (c *Cluster) matters(ch workload.Change) bool {
	switch ch.Kind {
	case "Node":
		return ch.Type == watch.Deleted || ch.Type == watch.Modified && c.watchful.Load()
	case "Pod":
		return ch.Type == watch.Deleted || !ch.Put
	case "Deployment", "DaemonSet":
		return !ch.Put
	case "Namespace", "ServiceAccount":
		return !ch.Put && !ch.Deleting
	}
	return false
}

// dialPod connects to a port of a pod: etcd's client port is served, and an API server's, which all stand behind the
// cluster's own endpoint.
func (c *Cluster) dialPod(ctx context.Context, pod *corev1.Pod, port int32) (net.Conn, error) {
	const etcdPort = 2379
	if strings.HasPrefix(pod.Name, "kube-apiserver-") {
		return (&net.Dialer{}).DialContext(ctx, "tcp", c.place.address())
	}
	c.mu.Lock()
	members := c.members
	c.mu.Unlock()
	if members == nil || port != etcdPort || !strings.HasPrefix(pod.Name, "etcd-") {
		return nil, etcd.ErrRefused
	}
	return members.Dial(ctx, pod.Spec.NodeName)
}

// saveMachines writes the machines' records. The caller holds mu.
func (c *Cluster) saveMachines() error {
	return c.remember(machinesValue, c.machines, false)
}

// lowestVersion is the oldest API server's version that is behind the endpoint.
func (c *Cluster) lowestVersion() string {
	var lowest *semver.Version
	for _, m := range c.machines {
		v, err := semver.ParseTolerant(m.Version)
		if err != nil || !m.ControlPlane || m.Gone {
			continue
		}
		if lowest == nil || v.LT(*lowest) {
			lowest = &v
		}
	}
	if lowest == nil {
		return ""
	}
	return "v" + lowest.String()
}

func (c *Cluster) close() error {
	c.mu.Lock()
	file, members := c.file, c.members
	c.file, c.api, c.members, c.closed = nil, nil, nil, true
	c.mu.Unlock()
	// Without the lock: closing waits for requests, and a request may ask for it.
	if members != nil {
		members.Close()
	}
	c.world.doors.shut(c.place.address(), c.place.tenant())
	if file == nil {
		return nil
	}
	return file.Close()
}

// hearts are the nodes that are not alive, and when they were last heard of.
type hearts struct {
	mu     sync.Mutex // guards silent
	silent map[string]time.Time
}

// heartbeatEvery is how often a kubelet reports.
const heartbeatEvery = 10 * time.Second

func (h *hearts) beat(node string, now time.Time) (time.Time, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last, ok := h.silent[node]; ok {
		return last, false
	}
	return now.Truncate(heartbeatEvery), true
}

func (h *hearts) set(silent map[string]time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.silent = silent
}
