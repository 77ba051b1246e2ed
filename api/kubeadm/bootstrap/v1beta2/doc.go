// Package v1beta2 holds the kinds of the kubeadm bootstrap provider: KubeadmConfig and KubeadmConfigTemplate.
//
// +kubebuilder:object:generate=true
// +groupName=bootstrap.cluster.x-k8s.io
package v1beta2
