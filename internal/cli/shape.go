package cli

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/plan"
)

const providerSim = "sim"

// The Kubernetes versions that are known to work. The default is one patch behind the newest, so that a first upgrade has
// somewhere to go.
const (
	defaultVersion = "v1.37.0"
	newestVersion  = "v1.37.2"
)

// knownVersions are offered by completion, newest first.
func knownVersions() []string {
	return []string{newestVersion + "\tnewest", "v1.37.1", defaultVersion + "\tdefault", "v1.36.4", "v1.35.6"}
}

// The networks of a cluster that is made from flags: kubeadm's for services, a private one for pods.
const (
	podNetwork     = "192.168.0.0/16"
	serviceNetwork = "10.96.0.0/12"
)

// clusterShape is a cluster as the flags describe it.
type clusterShape struct {
	Namespace, Name       string
	Provider, Version     string
	ControlPlane, Workers int32
}

// check finds what no API server would need to be asked for.
func (s clusterShape) check() error {
	what := "cannot create cluster " + s.Name
	switch errs := validation.IsDNS1123Label(s.Name); {
	case len(errs) > 0:
		return fault.New(nil, what, "the name is no name for a cluster: "+errs[0], s.Name, "a name such as demo or team-a-1")
	case s.Provider != providerSim:
		return fault.New(nil, what, fmt.Sprintf("there is no provider %q", s.Provider), "--provider "+s.Provider, "--provider "+providerSim)
	case s.ControlPlane < 1 || s.ControlPlane%2 == 0:
		return fault.New(nil, what, fmt.Sprintf("%d control-plane machines cannot keep a majority of etcd members better than one fewer", s.ControlPlane),
			fmt.Sprintf("--control-plane %d", s.ControlPlane), "--control-plane 1, 3, 5 or 7")
	case s.Workers < 0:
		return fault.New(nil, what, "there are no fewer than 0 workers", fmt.Sprintf("--workers %d", s.Workers), "--workers 0 or more")
	}
	if _, err := plan.ParseVersion(plan.NormalizeVersion(s.Version)); err != nil {
		return fault.New(err, what, err.Error(), "--version "+s.Version, "--version "+newestVersion)
	}
	return nil
}

// documents are the objects of the cluster. The Cluster comes last: should the command be cut short, running it again goes
// on, since only a Cluster keeps its name taken.
func (s clusterShape) documents() []client.Object {
	return []client.Object{
		s.simCluster(), s.simMachineTemplate(), s.kubeadmConfigTemplate(), s.controlPlane(), s.machineDeployment(), s.cluster(),
	}
}

func (s clusterShape) meta(suffix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name + suffix, Labels: map[string]string{clusterv1.ClusterNameLabel: s.Name}}
}

func typeOf(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

func refTo(group, kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
}

func (s clusterShape) cluster() client.Object {
	return &clusterv1.Cluster{
		TypeMeta: typeOf(clusterv1.GroupVersion.String(), "Cluster"), ObjectMeta: s.meta(""),
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{podNetwork}},
				Services: clusterv1.NetworkRanges{CIDRBlocks: []string{serviceNetwork}},
			},
			ControlPlaneRef:   refTo(controlplanev1.GroupVersion.Group, "KubeadmControlPlane", s.Name+"-cp"),
			InfrastructureRef: refTo(infrav1.GroupVersion.Group, "SimCluster", s.Name),
		},
	}
}

func (s clusterShape) simCluster() client.Object {
	return &infrav1.SimCluster{TypeMeta: typeOf(infrav1.GroupVersion.String(), "SimCluster"), ObjectMeta: s.meta("")}
}

func (s clusterShape) simMachineTemplate() client.Object {
	t := &infrav1.SimMachineTemplate{TypeMeta: typeOf(infrav1.GroupVersion.String(), "SimMachineTemplate"), ObjectMeta: s.meta("")}
	// It is the default, written out: a spec without a field would not be sent, and here is what one may want to change.
	t.Spec.Template.Spec.BootDelay = &metav1.Duration{Duration: time.Second}
	return t
}

func (s clusterShape) kubeadmConfigTemplate() client.Object {
	t := &bootstrapv1.KubeadmConfigTemplate{
		TypeMeta: typeOf(bootstrapv1.GroupVersion.String(), "KubeadmConfigTemplate"), ObjectMeta: s.meta("-md-0"),
	}
	t.Spec.Template.Spec.Format = bootstrapv1.CloudConfig
	return t
}

func (s clusterShape) controlPlane() client.Object {
	cp := &controlplanev1.KubeadmControlPlane{
		TypeMeta: typeOf(controlplanev1.GroupVersion.String(), "KubeadmControlPlane"), ObjectMeta: s.meta("-cp"),
		Spec: controlplanev1.KubeadmControlPlaneSpec{Replicas: &s.ControlPlane, Version: s.Version},
	}
	cp.Spec.MachineTemplate.Spec.InfrastructureRef = refTo(infrav1.GroupVersion.Group, "SimMachineTemplate", s.Name)
	return cp
}

func (s clusterShape) machineDeployment() client.Object {
	labels := map[string]string{clusterv1.ClusterNameLabel: s.Name, clusterv1.MachineDeploymentNameLabel: s.Name + "-md-0"}
	md := &clusterv1.MachineDeployment{
		TypeMeta: typeOf(clusterv1.GroupVersion.String(), "MachineDeployment"), ObjectMeta: s.meta("-md-0"),
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: s.Name, Replicas: &s.Workers, Selector: metav1.LabelSelector{MatchLabels: labels},
		},
	}
	md.Spec.Template.ObjectMeta.Labels = labels
	md.Spec.Template.Spec = clusterv1.MachineSpec{
		ClusterName: s.Name, Version: s.Version,
		Bootstrap:         clusterv1.Bootstrap{ConfigRef: refTo(bootstrapv1.GroupVersion.Group, "KubeadmConfigTemplate", s.Name+"-md-0")},
		InfrastructureRef: refTo(infrav1.GroupVersion.Group, "SimMachineTemplate", s.Name),
	}
	return md
}
