// Package config reads and writes kubeadm's own configuration documents, makes them from a KubeadmConfig and its
// Cluster, and compares KubeadmConfigs the way a rollout asks.
package config

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/blang/semver/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Version is an API version of kubeadm's configuration.
type Version string

// The versions that are spoken here.
const (
	// V1Beta3 is for Kubernetes 1.22 to 1.30.
	V1Beta3 Version = "kubeadm.k8s.io/v1beta3"
	// V1Beta4 is for Kubernetes 1.31 and later.
	V1Beta4 Version = "kubeadm.k8s.io/v1beta4"
)

const (
	kindCluster = "ClusterConfiguration"
	kindInit    = "InitConfiguration"
	kindJoin    = "JoinConfiguration"
)

// VersionFor returns the version that the kubeadm of a Kubernetes version reads. Pre-releases count as their release.
func VersionFor(kubernetes semver.Version) (Version, error) {
	switch {
	case kubernetes.Major == 1 && kubernetes.Minor < 22:
		return "", fmt.Errorf("kubernetes %s is too old: kubeadm configuration is written for 1.22 and later", kubernetes)
	case kubernetes.Major == 1 && kubernetes.Minor < 31:
		return V1Beta3, nil
	default:
		return V1Beta4, nil
	}
}

func typeMeta(v Version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: string(v), Kind: kind}
}

// Documents are the parts of a kubeadm configuration file; what is nil is not in it.
type Documents struct {
	Cluster *ClusterConfiguration
	Init    *InitConfiguration
	Join    *JoinConfiguration
}

// Marshal writes the documents as one YAML file in a version. Dropped names, in the order of the documents, what that version has no
// word for and was therefore left out.
func (d Documents) Marshal(v Version) (text []byte, dropped []string, err error) {
	var parts []any
	switch v {
	case V1Beta4:
		parts = d.latest()
	case V1Beta3:
		var l losses
		parts = d.v1beta3(&l)
		dropped = l
	default:
		return nil, nil, fmt.Errorf("write kubeadm configuration: unknown version %q", v)
	}
	var out bytes.Buffer
	for i, part := range parts {
		doc, err := yaml.Marshal(part)
		if err != nil {
			return nil, nil, fmt.Errorf("write kubeadm configuration: %w", err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(doc)
	}
	return out.Bytes(), dropped, nil
}

func (d Documents) latest() []any {
	var parts []any
	if d.Cluster != nil {
		c := *d.Cluster
		c.TypeMeta = typeMeta(V1Beta4, kindCluster)
		parts = append(parts, &c)
	}
	if d.Init != nil {
		c := *d.Init
		c.TypeMeta = typeMeta(V1Beta4, kindInit)
		parts = append(parts, &c)
	}
	if d.Join != nil {
		c := *d.Join
		c.TypeMeta = typeMeta(V1Beta4, kindJoin)
		parts = append(parts, &c)
	}
	return parts
}

func (d Documents) v1beta3(l *losses) []any {
	var parts []any
	if d.Cluster != nil {
		var timeouts *Timeouts
		if d.Init != nil {
			timeouts = d.Init.Timeouts
		}
		parts = append(parts, l.cluster(d.Cluster, timeouts))
	}
	if d.Init != nil {
		parts = append(parts, l.init(d.Init))
	}
	if d.Join != nil {
		parts = append(parts, l.join(d.Join))
	}
	return parts
}

// Parse reads a kubeadm configuration file of any version spoken here, as strictly as kubeadm: a field, kind or version
// that is not known, or a document that comes twice, is an error that names it.
func Parse(text []byte) (Documents, error) {
	var p parser
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Documents{}, fmt.Errorf("read kubeadm configuration: %w", err)
		}
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		if err := p.add(doc); err != nil {
			return Documents{}, fmt.Errorf("read kubeadm configuration: %w", err)
		}
	}
	if p.Documents == (Documents{}) {
		return Documents{}, errors.New("read kubeadm configuration: no document in it")
	}
	if p.timeoutForControlPlane != nil && p.Init != nil {
		p.Init.Timeouts = &Timeouts{ControlPlaneComponentHealthCheck: p.timeoutForControlPlane}
	}
	return p.Documents, nil
}

// parser collects documents; v1beta3 says in one what v1beta4 says in another.
type parser struct {
	Documents

	timeoutForControlPlane *metav1.Duration
}

func (p *parser) add(doc []byte) error {
	var meta *metav1.TypeMeta
	if err := yaml.Unmarshal(doc, &meta); err != nil {
		return err
	}
	if meta == nil {
		return nil // comments only
	}
	version := Version(meta.APIVersion)
	if version != V1Beta3 && version != V1Beta4 {
		return fmt.Errorf("apiVersion %q of %s is not one of %s, %s", meta.APIVersion, meta.Kind, V1Beta3, V1Beta4)
	}
	var err error
	switch meta.Kind {
	case kindCluster:
		err = once(&p.Cluster, doc, version, func(c *clusterV1Beta3) *ClusterConfiguration {
			p.timeoutForControlPlane = c.APIServer.TimeoutForControlPlane
			return c.latest()
		})
		if err == nil {
			p.Cluster.TypeMeta = metav1.TypeMeta{}
		}
	case kindInit:
		err = once(&p.Init, doc, version, (*initV1Beta3).latest)
		if err == nil {
			p.Init.TypeMeta = metav1.TypeMeta{}
		}
	case kindJoin:
		err = once(&p.Join, doc, version, (*joinV1Beta3).latest)
		if err == nil {
			p.Join.TypeMeta = metav1.TypeMeta{}
		}
	default:
		return fmt.Errorf("kind %q is not one of %s, %s, %s", meta.Kind, kindCluster, kindInit, kindJoin)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", meta.Kind, err)
	}
	return nil
}

// once decodes a document into *into, which must still be empty.
func once[Latest, Old any](into **Latest, doc []byte, v Version, convert func(*Old) *Latest) error {
	if *into != nil {
		return errors.New("is there twice")
	}
	if v == V1Beta3 {
		old := new(Old)
		if err := yaml.UnmarshalStrict(doc, old); err != nil {
			return err
		}
		*into = convert(old)
		return nil
	}
	latest := new(Latest)
	if err := yaml.UnmarshalStrict(doc, latest); err != nil {
		return err
	}
	*into = latest
	return nil
}
