package world

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newLease is the Lease by which a kubelet shows that it is alive. What is read of its renewTime is
// computed, but a time must stand there.
func newLease(node *corev1.Node, now time.Time) *coordinationv1.Lease {
	const seconds = int32(40)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: corev1.NamespaceNodeLease, Name: node.Name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new(node.Name), LeaseDurationSeconds: new(seconds), RenewTime: &metav1.MicroTime{Time: now}},
	}
}
