// Package v1beta2 holds the core kinds of the Cluster API in their storage version: Cluster, Machine, MachineSet,
// MachineDeployment, MachinePool, MachineHealthCheck, MachineDrainRule and ClusterClass.
//
// Every field is spelled on the wire as upstream's v1beta2 spells it. A field that is unset is absent: pointers tell
// "unset" from zero for numbers and booleans, and structs carry omitzero so that an empty one is never sent.
// What Slipway adds lives under status.slipway and in condition types and annotations of slipway.dev.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.x-k8s.io
package v1beta2
