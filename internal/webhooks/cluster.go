package webhooks

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func clusterWebhooks() []Webhook {
	k := kind{version: clusterv1.GroupVersion, singular: "cluster", plural: "clusters"}
	return []Webhook{validating(k, changed, validator[clusterv1.ClusterSpec]{check: checkCluster, change: changeCluster})}
}

func checkCluster(o *object[clusterv1.ClusterSpec]) field.ErrorList {
	at, s := field.NewPath("spec"), &o.Spec
	errs := checkClusterName(o.Metadata.Name)
	if s.Topology.IsDefined() {
		errs = append(errs, notActedOn(at.Child("topology"), "no control plane and no machines would be made from the ClusterClass, so create the objects and set controlPlaneRef and infrastructureRef"))
	} else if !s.ControlPlaneRef.IsDefined() && !s.InfrastructureRef.IsDefined() {
		errs = append(errs, field.Required(at, "set controlPlaneRef, infrastructureRef or both: without them there is nothing to make a cluster of"))
	}
	errs = append(errs, checkObjectKind(at.Child("controlPlaneRef"), s.ControlPlaneRef)...)
	errs = append(errs, checkObjectKind(at.Child("infrastructureRef"), s.InfrastructureRef)...)
	errs = append(errs, checkEndpointHost(at.Child("controlPlaneEndpoint", "host"), s.ControlPlaneEndpoint.Host)...)
	return append(errs, checkNetwork(at.Child("clusterNetwork"), s.ClusterNetwork)...)
}

// checkClusterName refuses names that would fail later: the name is a label's value, and begins the names of Machines,
// which are host names. A dot there makes a host name a domain name, and tools cut it.
func checkClusterName(name string) field.ErrorList {
	errs := checkLabelName("Cluster", name)
	if strings.Contains(name, ".") {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), name,
			fmt.Sprintf("the name begins the host names of the machines, where a dot would begin a domain: write dashes for dots, as %q", strings.ReplaceAll(name, ".", "-"))))
	}
	return errs
}

// checkLabelName refuses names that cannot be the value of a label.
func checkLabelName(kind, name string) field.ErrorList {
	if len(name) <= validation.LabelValueMaxLength {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name,
		fmt.Sprintf("the name of a %s is the value of a label on its objects, so it has at most %d characters, and this one has %d: choose a shorter one",
			kind, validation.LabelValueMaxLength, len(name)))}
}

// checkEndpointHost refuses a host that is more than a host: with the port added to it, it would be no address.
func checkEndpointHost(at *field.Path, host string) field.ErrorList {
	if host == "" {
		return nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	switch {
	case strings.Contains(host, "/"):
		return field.ErrorList{field.Invalid(at, host, "write the host name or the IP address alone, without a scheme or path")}
	case strings.HasPrefix(host, "["):
		return field.ErrorList{field.Invalid(at, host, "write the IPv6 address without brackets, and the port in the field port")}
	case strings.Contains(host, ":"):
		return field.ErrorList{field.Invalid(at, host, "write the host alone, and the port in the field port")}
	}
	return nil
}

func checkNetwork(at *field.Path, n clusterv1.ClusterNetwork) field.ErrorList {
	pods, errs := parseRanges(at.Child("pods", "cidrBlocks"), n.Pods.CIDRBlocks)
	services, more := parseRanges(at.Child("services", "cidrBlocks"), n.Services.CIDRBlocks)
	errs = append(errs, more...)
	for i, service := range services {
		for _, pod := range pods {
			if service.Overlaps(pod) {
				errs = append(errs, field.Invalid(at.Child("services", "cidrBlocks").Index(i), service.String(),
					fmt.Sprintf("overlaps the pods' range %s, so an address could be a pod's and a service's: choose ranges that have no address in common", pod)))
			}
		}
	}
	return errs
}

// parseRanges returns the ranges, an invalid one for each that is malformed.
func parseRanges(at *field.Path, blocks []string) ([]netip.Prefix, field.ErrorList) {
	var errs field.ErrorList
	ranges := make([]netip.Prefix, len(blocks))
	for i, block := range blocks {
		parsed, err := netip.ParsePrefix(block)
		if err != nil {
			errs = append(errs, field.Invalid(at.Index(i), block, "not a range of addresses: write it like 10.96.0.0/12 or fd00:10:96::/112"))
		}
		ranges[i] = parsed
	}
	return ranges, errs
}

func changeCluster(o, old *object[clusterv1.ClusterSpec]) field.ErrorList {
	at := field.NewPath("spec")
	if old.Spec.Topology.IsDefined() {
		// The references of a Cluster with a topology are set by a controller and are not in the user's manifest.
		return nil
	}
	errs := keepReference(at.Child("controlPlaneRef"), o.Spec.ControlPlaneRef, old.Spec.ControlPlaneRef)
	return append(errs, keepReference(at.Child("infrastructureRef"), o.Spec.InfrastructureRef, old.Spec.InfrastructureRef)...)
}

func keepReference(at *field.Path, ref, old clusterv1.ContractVersionedObjectReference) field.ErrorList {
	if ref.IsDefined() || !old.IsDefined() {
		return nil
	}
	return field.ErrorList{field.Forbidden(at,
		fmt.Sprintf("a reference cannot be removed, or %s %s would be left behind: put it back, or delete the Cluster", old.Kind, old.Name))}
}
