// Package v1beta2 holds the kinds of the kubeadm control-plane provider: KubeadmControlPlane and
// KubeadmControlPlaneTemplate.
//
// +kubebuilder:object:generate=true
// +groupName=controlplane.cluster.x-k8s.io
package v1beta2
