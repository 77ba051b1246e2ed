package webhooks_test

import (
	"strings"
	"testing"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

func TestCluster_Rules(t *testing.T) {
	t.Parallel()
	named := func(name string) *clusterv1.Cluster { return cluster(func(c *clusterv1.Cluster) { c.Name = name }) }
	at := func(host string) *clusterv1.Cluster {
		return cluster(func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = host })
	}
	network := func(pods, services string) *clusterv1.Cluster {
		return cluster(func(c *clusterv1.Cluster) {
			c.Spec.ClusterNetwork.Pods.CIDRBlocks, c.Spec.ClusterNetwork.Services.CIDRBlocks = []string{pods}, []string{services}
		})
	}
	long := strings.Repeat("c", 64)
	rows := []row{
		{name: "good", obj: cluster()},
		{name: "infrastructure alone", obj: cluster(func(c *clusterv1.Cluster) { c.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{} })},
		{name: "63 characters", obj: named(long[:63])},
		{name: "64 characters", obj: named(long), want: []string{
			`metadata.name: Invalid value: "` + long + `": the name of a Cluster is the value of a label on its objects, so it has at most 63 characters, and this one has 64: choose a shorter one`,
		}},
		{name: "dot", obj: named("a.b.c"), want: []string{
			`metadata.name: Invalid value: "a.b.c": the name begins the host names of the machines, where a dot would begin a domain: write dashes for dots, as "a-b-c"`,
		}},
		{name: "dot, stored", obj: cluster(func(c *clusterv1.Cluster) { c.Name, c.Spec.Paused = "a.b", new(true) }), old: named("a.b")},
		{name: "nothing to make it of", obj: cluster(func(c *clusterv1.Cluster) {
			c.Spec.ControlPlaneRef, c.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{}, clusterv1.ContractVersionedObjectReference{}
		}), want: []string{
			"spec: Required value: set controlPlaneRef, infrastructureRef or both: without them there is nothing to make a cluster of",
		}},
		{name: "templates", obj: cluster(func(c *clusterv1.Cluster) {
			c.Spec.ControlPlaneRef.Kind, c.Spec.InfrastructureRef.Kind = "KubeadmControlPlaneTemplate", "SimClusterTemplate"
		}), want: []string{
			`spec.controlPlaneRef.kind: Invalid value: "KubeadmControlPlaneTemplate": the object itself is wanted here, not a template for it: refer to a KubeadmControlPlane`,
			`spec.infrastructureRef.kind: Invalid value: "SimClusterTemplate": the object itself is wanted here, not a template for it: refer to a SimCluster`,
		}},
		{name: "references removed", obj: cluster(func(c *clusterv1.Cluster) { c.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{} }), old: cluster(), want: []string{
			"spec.controlPlaneRef: Forbidden: a reference cannot be removed, or KubeadmControlPlane c would be left behind: put it back, or delete the Cluster",
		}},
		{name: "reference changed", obj: cluster(func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef.Kind = "OtherCluster" }), old: cluster()},
		{name: "malformed ranges", obj: network("192.168.0.0", "10.96.0.0/33"), want: []string{
			`spec.clusterNetwork.pods.cidrBlocks[0]: Invalid value: "192.168.0.0": not a range of addresses: write it like 10.96.0.0/12 or fd00:10:96::/112`,
			`spec.clusterNetwork.services.cidrBlocks[0]: Invalid value: "10.96.0.0/33": not a range of addresses: write it like 10.96.0.0/12 or fd00:10:96::/112`,
		}},
		{name: "ranges that overlap", obj: network("10.0.0.0/8", "10.96.0.1/12"), want: []string{
			`spec.clusterNetwork.services.cidrBlocks[0]: Invalid value: "10.96.0.1/12": overlaps the pods' range 10.0.0.0/8, so an address could be a pod's and a service's: choose ranges that have no address in common`,
		}},
		{name: "ranges that touch", obj: network("10.0.0.0/12", "10.16.0.0/12")},
		{name: "port in the host", obj: at("lb.example.com:443"), want: []string{
			`spec.controlPlaneEndpoint.host: Invalid value: "lb.example.com:443": write the host alone, and the port in the field port`,
		}},
		{name: "empty port in the host", obj: at("10.0.0.1:"), want: []string{
			`spec.controlPlaneEndpoint.host: Invalid value: "10.0.0.1:": write the host alone, and the port in the field port`,
		}},
		{name: "scheme in the host", obj: at("https://lb.example.com"), want: []string{
			`spec.controlPlaneEndpoint.host: Invalid value: "https://lb.example.com": write the host name or the IP address alone, without a scheme or path`,
		}},
		{name: "brackets", obj: at("[fd00::10]:6443"), want: []string{
			`spec.controlPlaneEndpoint.host: Invalid value: "[fd00::10]:6443": write the IPv6 address without brackets, and the port in the field port`,
		}},
		{name: "host name", obj: at("lb.example.com")},
	}
	checkRows(t, rows)
}

func TestCluster_ReferencesOfATopologyNeedNotBeRepeated(t *testing.T) {
	t.Parallel()
	old := cluster(func(c *clusterv1.Cluster) {
		c.Spec.Topology.ClassRef.Name, c.Spec.Topology.Version = "class", "v1.37.2"
	})
	again := old.DeepCopy()
	again.Spec.ControlPlaneRef, again.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{}, clusterv1.ContractVersionedObjectReference{}
	checkRows(t, []row{{name: "manifest applied again", obj: again, old: old}})
}
