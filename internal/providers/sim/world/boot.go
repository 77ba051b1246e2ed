package world

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/initobjects"
	"slipway.dev/slipway/internal/kubeadm/token"
	"slipway.dev/slipway/internal/providers/sim/workload"
)

// ErrUnreachable is returned by Boot when a machine cannot reach the cluster that it shall join; kubeadm would go on trying.
var ErrUnreachable = errors.New("the API endpoint does not answer")

// BootstrapError is returned by Boot when the bootstrap data or what kubeadm made of it is wrong. Trying again does not
// help, as on a real machine.
type BootstrapError struct {
	// Step is cloud-init or the kubeadm command that failed.
	Step string
	// Err is what it said.
	Err error
}

// Error returns the step and what it said.
func (e *BootstrapError) Error() string { return e.Step + ": " + e.Err.Error() }

// Unwrap returns what the step said.
func (e *BootstrapError) Unwrap() error { return e.Err }

// boot is one machine on its way to become a Node.
type boot struct {
	machine Machine
	// lenient lets a machine of a cluster whose file was lost come back: tokens of long ago are not asked for.
	lenient bool
	data    *cloudinit.Config
	docs    config.Documents
	node    string
	now     time.Time
}

// Boot has a machine read its bootstrap data and run kubeadm, once: a machine that has a record is done, and another of its
// name must be deleted first. Rebuild says that
// the machine is known to have booted before the cluster's file was lost. It returns the machine's record, ErrUnreachable,
// a *BootstrapError, or another error when the simulation itself failed.
func (c *Cluster) Boot(m Machine, data []byte, rebuild bool) (Record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.machines[m.Name]; ok && have.Is(m.UID) {
		return have.Record, nil
	} else if ok {
		return Record{}, fmt.Errorf("another machine is there with the name %s", m.Name)
	}
	b, err := readBoot(m, data, c.world.opts.Now())
	if err != nil {
		return Record{}, err
	}
	b.lenient = rebuild
	if err := c.runKubeadm(b); err != nil {
		return Record{}, err
	}
	record := Record{UID: m.UID, Node: b.node, ControlPlane: b.controlPlane(), Version: "v" + m.Version.String(), Zone: m.Zone, Booted: b.now}
	c.machines[m.Name] = &machine{Record: record}
	if err := c.saveMachines(); err != nil {
		delete(c.machines, m.Name)
		return Record{}, err
	}
	return record, c.settle()
}

// readBoot reads bootstrap data as cloud-init and kubeadm would.
func readBoot(m Machine, data []byte, now time.Time) (*boot, error) {
	cfg, err := cloudinit.Read(data, cloudinit.Variables{
		"ds.meta_data.local_hostname": m.Name, "ds.meta_data.hostname": m.Name, "v1.local_hostname": m.Name, "v1.instance_id": m.ProviderID,
		"ds.meta_data.instance_id": m.ProviderID, "local_hostname": m.Name,
	})
	if err != nil {
		return nil, &BootstrapError{"cloud-init", err}
	}
	b := &boot{machine: m, data: cfg, now: now, node: m.Name}
	path, err := kubeadmConfigPath(cfg.RunCommands)
	if err != nil {
		return nil, &BootstrapError{"cloud-init", err}
	}
	text, ok := cfg.Content(path)
	if !ok {
		return nil, &BootstrapError{"kubeadm", fmt.Errorf("open %s: no such file", path)}
	}
	if b.docs, err = config.Parse(text); err != nil {
		return nil, &BootstrapError{"kubeadm", err}
	}
	if b.docs.Init == nil && b.docs.Join == nil {
		return nil, &BootstrapError{"kubeadm", fmt.Errorf("%s holds neither an InitConfiguration nor a JoinConfiguration", path)}
	}
	if name := b.registration().Name; name != "" {
		b.node = name
	}
	return b, nil
}

// kubeadmConfigPath finds the kubeadm command among what cloud-init runs.
func kubeadmConfigPath(commands []cloudinit.Command) (string, error) {
	for _, cmd := range commands {
		words := cmd.Argv
		if len(words) == 0 {
			words = strings.Fields(cmd.Line)
		}
		at := slices.IndexFunc(words, func(w string) bool { return w == "kubeadm" || strings.HasSuffix(w, "/kubeadm") })
		if at < 0 {
			continue
		}
		for i, w := range words[at:] {
			if value, ok := strings.CutPrefix(w, "--config="); ok {
				return value, nil
			}
			if w == "--config" && at+i+1 < len(words) {
				return words[at+i+1], nil
			}
		}
	}
	return "", errors.New("none of its commands runs kubeadm with a configuration file")
}

func (b *boot) registration() config.NodeRegistrationOptions {
	if b.docs.Init != nil {
		return b.docs.Init.NodeRegistration
	}
	return b.docs.Join.NodeRegistration
}

func (b *boot) controlPlane() bool { return b.docs.Init != nil || b.docs.Join.ControlPlane != nil }

// step is the name of the kubeadm command, for errors.
func (b *boot) step() string {
	if b.docs.Init != nil {
		return "kubeadm init"
	}
	return "kubeadm join"
}

func (c *Cluster) runKubeadm(b *boot) error {
	switch {
	case b.docs.Init != nil:
		return c.kubeadmInit(b, *b.docs.Init)
	case c.api == nil && b.lenient && b.docs.Join.ControlPlane != nil:
		return c.kubeadmInit(b, config.InitConfiguration{NodeRegistration: b.docs.Join.NodeRegistration})
	}
	return c.kubeadmJoin(b, *b.docs.Join)
}

// kubeadmInit makes the cluster. On a cluster that is there, it goes on only for the machine that made it.
func (c *Cluster) kubeadmInit(b *boot, cfg config.InitConfiguration) error {
	cluster := config.ClusterConfiguration{}
	if b.docs.Cluster != nil {
		cluster = *b.docs.Cluster
	}
	if c.api != nil && !b.lenient && !workload.Has[*corev1.Node](c.api.Store(), types.NamespacedName{Name: b.node}) && len(c.machines) > 0 {
		return &BootstrapError{b.step(), fmt.Errorf("the control plane endpoint %s belongs to a cluster already", c.place.address())}
	}
	pki, err := b.authorities(cluster.CertificatesDir, externalEtcd(cluster))
	if err != nil {
		return err
	}
	if err := c.found(pki); err != nil {
		return err
	}
	objects, err := c.initialObjects(b, cfg, cluster)
	if err != nil {
		return err
	}
	if _, err := c.api.Store().Put(objects...); err != nil {
		return fmt.Errorf("create what kubeadm init creates: %w", err)
	}
	return c.register(b, cluster)
}

// authorities reads the CAs that the bootstrap data put on the machine.
func (b *boot) authorities(dir string, external certs.ExternalEtcd) (certs.Set, error) {
	set := certs.Set{}
	for _, purpose := range certs.Required(external) {
		files := purpose.Files(dir, external)
		cert, okCert := b.data.Content(files.Cert)
		key, okKey := b.data.Content(files.Key)
		if !okCert || (files.Key != "" && !okKey) {
			return nil, &BootstrapError{b.step(), fmt.Errorf("the file %s or its key is missing", files.Cert)}
		}
		pair := certs.KeyPair{Cert: cert, Key: key}
		if err := pair.Check(purpose, external, b.now); err != nil {
			return nil, &BootstrapError{b.step(), fmt.Errorf("%s: %w", files.Cert, err)}
		}
		set[purpose] = pair
	}
	return set, nil
}

func externalEtcd(cluster config.ClusterConfiguration) certs.ExternalEtcd {
	if e := cluster.Etcd.External; e != nil {
		return certs.ExternalEtcd{CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile}
	}
	return certs.ExternalEtcd{}
}

// found opens the cluster's file and endpoint.
func (c *Cluster) found(pki certs.Set) error {
	if c.api != nil && len(c.machines) == 0 && !c.ailing.Unreachable {
		// A boot that went wrong is tried again: the port may have been taken.
		return c.api.SetReachable(true)
	}
	if c.api != nil {
		return nil
	}
	if err := c.open(); err != nil {
		return fmt.Errorf("open the cluster's file: %w", err)
	}
	if err := c.remember(pkiValue, pki, false); err != nil {
		return err
	}
	c.api, c.pki = c.file, pki
	return c.serve()
}

func (c *Cluster) initialObjects(b *boot, cfg config.InitConfiguration, cluster config.ClusterConfiguration) ([]workload.Object, error) {
	params := initobjects.Params{
		Cluster: cluster, KubernetesVersion: b.machine.Version, Server: "https://" + c.place.address(), CAPEM: c.pki[certs.ClusterCA].Cert,
	}
	made, err := initobjects.Objects(params)
	if err != nil {
		return nil, &BootstrapError{b.step(), err}
	}
	var objects []workload.Object
	for _, obj := range append(initobjects.BootstrapPolicy(), made...) {
		o, ok := obj.(workload.Object)
		if !ok {
			return nil, fmt.Errorf("an initial object of type %T is no object", obj)
		}
		objects = append(objects, o)
	}
	for _, t := range cfg.BootstrapTokens {
		parsed, err := token.Parse(t.Token)
		if err != nil {
			return nil, &BootstrapError{b.step(), err}
		}
		objects = append(objects, token.NewSecret(parsed, t.Description, expiryOf(t, b.now)))
	}
	return objects, nil
}

func expiryOf(t config.BootstrapToken, now time.Time) time.Time {
	const kubeadmDefault = 24 * time.Hour
	switch {
	case t.Expires != nil:
		return t.Expires.Time
	case t.TTL != nil:
		return now.Add(t.TTL.Duration)
	}
	return now.Add(kubeadmDefault)
}

// kubeadmJoin has a machine find the cluster and come to trust it, and makes it a Node.
func (c *Cluster) kubeadmJoin(b *boot, cfg config.JoinConfiguration) error {
	if c.api == nil || (!b.lenient && !c.reachable()) {
		return ErrUnreachable
	}
	cluster, err := c.stored()
	if err != nil {
		return err
	}
	if !b.lenient {
		if err := c.checkTrust(b, cfg); err != nil {
			return err
		}
	}
	if cfg.ControlPlane != nil {
		pki, err := b.authorities(cluster.CertificatesDir, externalEtcd(*cluster))
		if err != nil {
			return err
		}
		if err := c.checkAuthorities(b, pki, cluster.CertificatesDir, externalEtcd(*cluster)); err != nil {
			return err
		}
	}
	return c.register(b, *cluster)
}

// reachable tells whether a control plane is there to answer.
func (c *Cluster) reachable() bool {
	if c.ailing.Unreachable {
		return false
	}
	for _, m := range c.machines {
		if m.ControlPlane && c.powered(m) {
			return true
		}
	}
	return false
}

// stored is the configuration that kubeadm init left in the cluster.
func (c *Cluster) stored() (*config.ClusterConfiguration, error) {
	cm, err := workload.Read[*corev1.ConfigMap](c.api.Store(), types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: config.ConfigMapName})
	if err != nil {
		return nil, &BootstrapError{"kubeadm join", err}
	}
	stored, err := config.ParseStored(cm.Data)
	if err != nil {
		return nil, &BootstrapError{"kubeadm join", err}
	}
	return stored, nil
}

// register makes the machine a Node, with its control plane and its etcd member if it has one.
func (c *Cluster) register(b *boot, cluster config.ClusterConfiguration) error {
	images := initobjects.ImagesOf(cluster, b.machine.Version)
	stacked := c.members != nil && cluster.Etcd.External == nil
	if b.controlPlane() && stacked {
		if err := c.joinEtcd(b.node, images.Etcd); err != nil {
			return err
		}
	}
	node := newNode(b.machine, b.node, b.registration(), b.controlPlane(), b.now)
	if _, err := c.api.Store().Put(node); err != nil {
		return fmt.Errorf("register Node %s: %w", node.Name, err)
	}
	node, err := workload.Read[*corev1.Node](c.api.Store(), types.NamespacedName{Name: node.Name})
	if err != nil {
		return err
	}
	objects := []workload.Object{newLease(node, b.now)}
	if b.controlPlane() {
		objects = append(objects, staticPods(node, images, stacked, b.now)...)
	}
	_, err = c.api.Store().Put(objects...)
	return err
}

// joinEtcd makes the machine an etcd member, as kubeadm does: a learner first, then a voter.
func (c *Cluster) joinEtcd(node, image string) error {
	version := versionOfImage(image)
	address := Address(node).String()
	peers, clients := []string{"https://" + net.JoinHostPort(address, "2380")}, []string{"https://" + net.JoinHostPort(address, "2379")}
	if len(c.members.State().Members) == 0 {
		_, err := c.members.Bootstrap(node, peers, clients, version)
		return err
	}
	member, have := c.members.Member(node)
	if !have {
		added, err := c.members.Add(peers, true)
		if err != nil {
			return fmt.Errorf("%w: add etcd member: %w", ErrUnreachable, err)
		}
		if member, err = c.members.Start(added.ID, node, clients, version); err != nil {
			return err
		}
	}
	if !member.Learner {
		return nil
	}
	if err := c.members.Promote(member.ID); err != nil {
		return fmt.Errorf("%w: promote etcd member: %w", ErrUnreachable, err)
	}
	return nil
}

// versionOfImage is an image's tag without what its build added, such as 3.6.5 of registry.k8s.io/etcd:3.6.5-0.
func versionOfImage(image string) string {
	tag := image[strings.LastIndex(image, ":")+1:]
	v, err := semver.ParseTolerant(tag)
	if err != nil {
		return tag
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}
