package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

const (
	// ConfigMapName is the ConfigMap in kube-system where kubeadm init leaves the ClusterConfiguration and kubeadm
	// join finds it.
	ConfigMapName = "kubeadm-config"
	// ConfigMapKey is the key of that ConfigMap.
	ConfigMapKey = kindCluster
)

// ownedKeys are the parts of the stored ClusterConfiguration that follow the KubeadmControlPlane.
var ownedKeys = []string{
	"kubernetesVersion", "imageRepository", "featureGates", "apiServer", "controllerManager", "scheduler", "etcd",
	"certificateValidityPeriod", "encryptionAlgorithm",
}

// ParseStored reads the ClusterConfiguration of the ConfigMap kubeadm-config. Fields that are not known are passed over.
func ParseStored(data map[string]string) (*ClusterConfiguration, error) {
	text, ok := data[ConfigMapKey]
	if !ok {
		return nil, fmt.Errorf("configmap %s: key %s is missing", ConfigMapName, ConfigMapKey)
	}
	c, _, err := parseStored(text)
	return c, err
}

func parseStored(text string) (*ClusterConfiguration, Version, error) {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &meta); err != nil {
		return nil, "", fmt.Errorf("read stored ClusterConfiguration: %w", err)
	}
	switch v := Version(meta.APIVersion); v {
	case V1Beta4:
		var c ClusterConfiguration
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			return nil, "", fmt.Errorf("read stored ClusterConfiguration: %w", err)
		}
		c.TypeMeta = metav1.TypeMeta{}
		return &c, v, nil
	case V1Beta3:
		var c clusterV1Beta3
		if err := yaml.Unmarshal([]byte(text), &c); err != nil {
			return nil, "", fmt.Errorf("read stored ClusterConfiguration: %w", err)
		}
		return c.latest(), v, nil
	default:
		return nil, "", fmt.Errorf("read stored ClusterConfiguration: apiVersion %q is not one of %s, %s", meta.APIVersion, V1Beta3, V1Beta4)
	}
}

// UpdateStored brings the stored ClusterConfiguration to a Kubernetes version and to what a KubeadmControlPlane asks
// for, so that machines which join from now on follow it. What the KubeadmControlPlane does not govern stays as it is,
// unknown fields too. The result is the same text, and changed is false, when nothing has to change.
func UpdateStored(text string, kubernetes semver.Version, spec bootstrapv1.ClusterConfiguration) (updated string, changed bool, err error) {
	have, from, err := parseStored(text)
	if err != nil {
		return "", false, err
	}
	to, err := VersionFor(kubernetes)
	if err != nil {
		return "", false, err
	}
	want := governed(*have, kubernetes, spec)
	if from == to && sameStored(*have, want, to) {
		return text, false, nil
	}
	out, dropped, err := Documents{Cluster: &want}.Marshal(to)
	if err != nil {
		return "", false, err
	}
	if from == to {
		updated, err = graft(text, string(out))
		return updated, true, err
	}
	// Another version may say the same in other places, so nothing can be carried over that is not understood.
	if _, err := Parse([]byte(text)); err != nil {
		return "", false, fmt.Errorf("convert stored ClusterConfiguration from %s to %s: %w", from, to, err)
	}
	if from == V1Beta4 && len(dropped) > 0 {
		return "", false, fmt.Errorf("convert stored ClusterConfiguration from %s to %s: it has no word for %v", from, to, dropped)
	}
	return string(out), true, nil
}

// governed returns have with everything in ownedKeys as spec says.
func governed(have ClusterConfiguration, kubernetes semver.Version, spec bootstrapv1.ClusterConfiguration) ClusterConfiguration {
	from := clusterConfiguration(spec)
	want := have
	want.KubernetesVersion = "v" + kubernetes.String()
	want.APIServer, want.ControllerManager, want.Scheduler = from.APIServer, from.ControllerManager, from.Scheduler
	want.FeatureGates = featureGates(from.FeatureGates, kubernetes)
	want.Etcd = from.Etcd
	// kubeadm init writes its defaults down: where the user says nothing they are right, and no reason for a write.
	if local := have.Etcd.Local; local != nil && want.Etcd.External == nil {
		kept := LocalEtcd{}
		if want.Etcd.Local != nil {
			kept = *want.Etcd.Local
		}
		kept.DataDir = cmp.Or(kept.DataDir, local.DataDir)
		want.Etcd.Local = &kept
	}
	want.ImageRepository = cmp.Or(from.ImageRepository, have.ImageRepository)
	want.EncryptionAlgorithm = cmp.Or(from.EncryptionAlgorithm, have.EncryptionAlgorithm)
	want.CertificateValidityPeriod = cmp.Or(from.CertificateValidityPeriod, have.CertificateValidityPeriod)
	return want
}

// sameStored compares in the words of one version: what v1beta3 cannot say is no difference in it.
func sameStored(have, want ClusterConfiguration, v Version) bool {
	if v == V1Beta3 {
		var l losses
		have, want = *l.cluster(&have, nil).latest(), *l.cluster(&want, nil).latest()
	}
	return equality.Semantic.DeepEqual(withSortedArgs(have), withSortedArgs(want))
}

func withSortedArgs(c ClusterConfiguration) ClusterConfiguration {
	c.APIServer.ExtraArgs = sortedArgs(c.APIServer.ExtraArgs)
	c.ControllerManager.ExtraArgs = sortedArgs(c.ControllerManager.ExtraArgs)
	c.Scheduler.ExtraArgs = sortedArgs(c.Scheduler.ExtraArgs)
	if l := c.Etcd.Local; l != nil {
		local := *l
		local.ExtraArgs = sortedArgs(local.ExtraArgs)
		c.Etcd.Local = &local
	}
	return c
}

func sortedArgs(args []Arg) []Arg {
	return slices.SortedStableFunc(slices.Values(args), func(a, b Arg) int { return cmp.Compare(a.Name, b.Name) })
}

// graft replaces the owned keys of one document by another's and leaves the rest untouched.
func graft(text, from string) (string, error) {
	base, err := topLevel(text)
	if err != nil {
		return "", err
	}
	source, err := topLevel(from)
	if err != nil {
		return "", err
	}
	for _, key := range ownedKeys {
		if part, ok := source[key]; ok {
			base[key] = part
		} else {
			delete(base, key)
		}
	}
	out, err := yaml.Marshal(base)
	if err != nil {
		return "", fmt.Errorf("write stored ClusterConfiguration: %w", err)
	}
	return string(out), nil
}

func topLevel(text string) (map[string]json.RawMessage, error) {
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read stored ClusterConfiguration: %w", err)
	}
	var out map[string]json.RawMessage
	if err := json.Unmarshal(asJSON, &out); err != nil {
		return nil, fmt.Errorf("read stored ClusterConfiguration: %w", err)
	}
	if out == nil {
		return nil, errors.New("read stored ClusterConfiguration: it is empty")
	}
	return out, nil
}
