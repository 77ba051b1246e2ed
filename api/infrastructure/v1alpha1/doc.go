// Package v1alpha1 holds the kinds of Slipway's own infrastructure providers: SimCluster and SimMachine, with their
// templates, whose machines are only simulated.
//
// They honour the v1beta2 contract of infrastructure providers. What may be shown of failures is asked for in
// spec.faults, so that every path that a real machine can take is open to learning and to tests.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1alpha1
