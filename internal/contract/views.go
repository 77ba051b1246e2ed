package contract

import (
	"cmp"
	"maps"
	"slices"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
)

// What the wire accepts of what a provider may report. An entry that it refuses is left out: it would keep the whole
// status that it is copied into from being written.
const (
	maxAddress       = 256
	maxFailureDomain = 256
	maxVersion       = 256
)

// InfrastructureCluster is what an infrastructure provider tells about a cluster's infrastructure.
type InfrastructureCluster struct {
	// Provisioned is true once the infrastructure can take machines.
	Provisioned Flag
	// Endpoint of the cluster's API server; zero where the provider does not know one.
	Endpoint clusterv1.APIEndpoint
	// FailureDomains that machines can be spread over, by name.
	FailureDomains []clusterv1.FailureDomain
	// Failure that the provider takes for terminal, in the v1beta1 contract.
	Failure Failure
}

// InfrastructureCluster reads the object as a cluster's infrastructure. The error is an *outcome.Stall.
func (o *Object) InfrastructureCluster() (InfrastructureCluster, error) {
	f := o.fields()
	view := InfrastructureCluster{
		Provisioned: o.flag(f, "status.ready", "status.initialization.provisioned"),
		Endpoint:    f.endpoint("spec.controlPlaneEndpoint"),
		Failure:     o.failure(f),
	}
	if o.contract == V1Beta1 {
		view.FailureDomains = f.failureDomainMap("status.failureDomains")
	} else {
		view.FailureDomains = f.failureDomainList("status.failureDomains")
	}
	return view, f.done(o)
}

// InfrastructureMachine is what an infrastructure provider tells about a machine.
type InfrastructureMachine struct {
	// Provisioned is true once the machine's infrastructure is all there.
	Provisioned Flag
	// ProviderID is what the machine's Node will carry; empty until the provider knows it.
	ProviderID string
	// Addresses of the machine, in the provider's order.
	Addresses clusterv1.MachineAddresses
	// FailureDomain where the machine is, by its status.
	FailureDomain string
	// SpecFailureDomain is the older field in spec, which some providers still set.
	SpecFailureDomain string
	// Interruptible is true for a machine that its cloud may take away at short notice.
	Interruptible Flag
	// BootstrapToolVersion is the version of the tool, such as kubeadm, that joined the machine to its cluster. The field
	// is Slipway's own; other providers do not report it.
	BootstrapToolVersion string
	// Failure that the provider takes for terminal, in the v1beta1 contract.
	Failure Failure
}

// InfrastructureMachine reads the object as a machine's infrastructure. The error is an *outcome.Stall.
func (o *Object) InfrastructureMachine() (InfrastructureMachine, error) {
	f := o.fields()
	view := InfrastructureMachine{
		Provisioned:       o.flag(f, "status.ready", "status.initialization.provisioned"),
		ProviderID:        f.text("spec.providerID"),
		Addresses:         f.addresses("status.addresses"),
		FailureDomain:     f.text("status.failureDomain"),
		SpecFailureDomain: f.text("spec.failureDomain"),
		Interruptible:     f.flag("status.interruptible"),
		Failure:           o.failure(f),

		BootstrapToolVersion: f.text("status.bootstrapToolVersion"),
	}
	return view, f.done(o)
}

// BootstrapConfig is what a bootstrap provider tells about a machine's bootstrap data.
type BootstrapConfig struct {
	// DataSecretCreated is true once the secret with the data is there.
	DataSecretCreated Flag
	// DataSecretName is the name of that secret.
	DataSecretName string
	// Failure that the provider takes for terminal, in the v1beta1 contract.
	Failure Failure
}

// BootstrapConfig reads the object as a bootstrap configuration. The error is an *outcome.Stall.
func (o *Object) BootstrapConfig() (BootstrapConfig, error) {
	f := o.fields()
	view := BootstrapConfig{
		DataSecretCreated: o.flag(f, "status.ready", "status.initialization.dataSecretCreated"),
		DataSecretName:    f.text("status.dataSecretName"),
		Failure:           o.failure(f),
	}
	return view, f.done(o)
}

// ControlPlane is what a control plane provider tells. Numbers are nil where it tells none.
type ControlPlane struct {
	// Initialized is true once the control plane has answered for the first time.
	Initialized Flag
	// Endpoint of the API server, where the control plane brings its own; else zero.
	Endpoint clusterv1.APIEndpoint
	// Version of Kubernetes that is asked for.
	Version string
	// ObservedVersion is the lowest version that runs.
	ObservedVersion string
	// Versions that run, where the provider counts them.
	Versions []clusterv1.StatusVersion
	// DesiredReplicas are asked for; nil for a control plane without machines.
	DesiredReplicas *int32
	// Replicas there are.
	Replicas *int32
	// ReadyReplicas of them are ready.
	ReadyReplicas *int32
	// AvailableReplicas of them are available. In the v1beta1 contract these are the desired less the unavailable.
	AvailableReplicas *int32
	// UpToDateReplicas of them are as the spec says. In the v1beta1 contract this is updatedReplicas.
	UpToDateReplicas *int32
	// Selector of the control plane's machines as a string.
	Selector string
	// ExternalManaged is true where no Machines make up the control plane.
	ExternalManaged Flag
	// Failure that the provider takes for terminal, in the v1beta1 contract.
	Failure Failure
}

// ControlPlane reads the object as a control plane. The error is an *outcome.Stall.
func (o *Object) ControlPlane() (ControlPlane, error) {
	f := o.fields()
	view := ControlPlane{
		Initialized:     o.flag(f, "status.initialized", "status.initialization.controlPlaneInitialized"),
		Endpoint:        f.endpoint("spec.controlPlaneEndpoint"),
		Version:         f.text("spec.version"),
		ObservedVersion: f.text("status.version"),
		Versions:        f.versions("status.versions"),
		DesiredReplicas: f.number("spec.replicas"),
		Replicas:        f.number("status.replicas"),
		ReadyReplicas:   f.number("status.readyReplicas"),
		Selector:        f.text("status.selector"),
		ExternalManaged: f.flag("status.externalManagedControlPlane"),
		Failure:         o.failure(f),
	}
	if o.contract == V1Beta1 {
		view.AvailableReplicas = difference(view.DesiredReplicas, f.number("status.unavailableReplicas"))
		view.UpToDateReplicas = f.number("status.updatedReplicas")
	} else {
		view.AvailableReplicas = f.number("status.availableReplicas")
		view.UpToDateReplicas = f.number("status.upToDateReplicas")
	}
	return view, f.done(o)
}

func difference(desired, unavailable *int32) *int32 {
	if desired == nil || unavailable == nil {
		return nil
	}
	return new(max(0, *desired-*unavailable))
}

func (o *Object) flag(f *fields, v1beta1, v1beta2 string) Flag {
	if o.contract == V1Beta1 {
		return f.flag(v1beta1)
	}
	return f.flag(v1beta2)
}

func (o *Object) failure(f *fields) Failure {
	if o.contract != V1Beta1 {
		return Failure{}
	}
	return Failure{Reason: f.text("status.failureReason"), Message: conditions.Bounded(f.text("status.failureMessage"))}
}

func (f *fields) endpoint(path string) clusterv1.APIEndpoint {
	endpoint := clusterv1.APIEndpoint{Host: f.text(path + ".host")}
	if port := f.number(path + ".port"); port != nil {
		endpoint.Port = *port
	}
	return endpoint
}

func (f *fields) addresses(path string) clusterv1.MachineAddresses {
	var out clusterv1.MachineAddresses
	for _, item := range f.list(path) {
		a := clusterv1.MachineAddress{Type: clusterv1.MachineAddressType(item.text("type")), Address: item.text("address")}
		f.adopt(path, item)
		if fits(a.Address, maxAddress) && slices.Contains(addressTypes(), a.Type) {
			out = append(out, a)
		}
	}
	return out
}

func addressTypes() []clusterv1.MachineAddressType {
	return []clusterv1.MachineAddressType{
		clusterv1.MachineHostName, clusterv1.MachineExternalIP, clusterv1.MachineInternalIP, clusterv1.MachineExternalDNS, clusterv1.MachineInternalDNS,
	}
}

func fits(text string, limit int) bool { return text != "" && len(text) <= limit }

func (f *fields) versions(path string) []clusterv1.StatusVersion {
	var out []clusterv1.StatusVersion
	for _, item := range f.list(path) {
		v := clusterv1.StatusVersion{Version: item.text("version"), Replicas: item.number("replicas")}
		f.adopt(path, item)
		if fits(v.Version, maxVersion) && v.Replicas != nil && *v.Replicas > 0 {
			out = append(out, v)
		}
	}
	return out
}

func (f *fields) failureDomainList(path string) []clusterv1.FailureDomain {
	var out []clusterv1.FailureDomain
	for _, item := range f.list(path) {
		domain := item.failureDomain(item.text("name"))
		f.adopt(path, item)
		if fits(domain.Name, maxFailureDomain) {
			out = append(out, domain)
		}
	}
	slices.SortStableFunc(out, func(a, b clusterv1.FailureDomain) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b clusterv1.FailureDomain) bool { return a.Name == b.Name })
}

func (f *fields) failureDomainMap(path string) []clusterv1.FailureDomain {
	var out []clusterv1.FailureDomain
	byName := f.mapping(path)
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		m, ok := byName[name].(map[string]any)
		if !ok {
			f.fail(path+"."+name, "an object", byName[name])
			continue
		}
		item := &fields{object: m}
		out = append(out, item.failureDomain(name))
		f.adopt(path+"."+name, item)
	}
	return out
}

func (f *fields) failureDomain(name string) clusterv1.FailureDomain {
	return clusterv1.FailureDomain{
		Name:         name,
		ControlPlane: f.flag("controlPlane").Value,
		Attributes:   f.texts("attributes"),
	}
}
