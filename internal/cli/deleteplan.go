package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/view"
)

// tellDeletion says what goes, what is lost and what the deletion will wait for.
func (a *app) tellDeletion(ctx context.Context, r client.Reader, key types.NamespacedName, s *view.Snapshot) {
	a.say("This deletes cluster %s with %s.", key, machines(len(s.Machines)))
	tell := func(label string, lines []string) {
		for i, line := range lines {
			if i > 0 {
				label = ""
			}
			a.say("  %-8s %s", label, line)
		}
	}
	tell("goes", append(partsOf(s), secretsOf(ctx, r, key)...))
	if len(s.Machines) > 0 {
		tell("lost", []string{"everything stored on its machines, etcd included"})
	}
	tell("waits", foreignFinalizers(s))
	if s.Object.DeletionTimestamp != nil {
		tell("already", []string{fmt.Sprintf("its deletion was requested %s ago", humanAge(a.now().Sub(s.Object.DeletionTimestamp.Time).Round(time.Second)))})
	}
}

// partsOf are the objects that go with a cluster, each with the machines that it keeps.
func partsOf(s *view.Snapshot) []string {
	controlPlane, workers, loose := countMachines(s)
	var parts []string
	switch {
	case s.ControlPlane != nil:
		parts = append(parts, fmt.Sprintf("KubeadmControlPlane %s, %s", s.ControlPlane.Name, machines(controlPlane)))
	case s.OtherControlPlane != nil:
		parts = append(parts, fmt.Sprintf("%s %s, %s", s.OtherControlPlane.Kind, s.OtherControlPlane.Name, machines(controlPlane)))
	}
	for i := range s.Deployments {
		parts = append(parts, fmt.Sprintf("MachineDeployment %s, %s", s.Deployments[i].Name, machines(workers[s.Deployments[i].Name])))
	}
	if loose > 0 {
		parts = append(parts, machines(loose)+" of no MachineDeployment")
	}
	if s.Infrastructure != nil {
		parts = append(parts, s.Infrastructure.Kind+" "+s.Infrastructure.Name)
	}
	return parts
}

func countMachines(s *view.Snapshot) (controlPlane int, workers map[string]int, loose int) {
	workers = map[string]int{}
	for i := range s.Machines {
		labels := s.Machines[i].Labels
		_, isControlPlane := labels[clusterv1.MachineControlPlaneLabel]
		switch deployment := labels[clusterv1.MachineDeploymentNameLabel]; {
		case isControlPlane:
			controlPlane++
		case deployment != "":
			workers[deployment]++
		default:
			loose++
		}
	}
	return controlPlane, workers, loose
}

// secretsOf are the cluster's secrets as one line. Who may not list them may still delete the cluster.
func secretsOf(ctx context.Context, r client.Reader, key types.NamespacedName) []string {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := r.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: key.Name})
	if err != nil || len(list.Items) == 0 {
		return nil
	}
	if len(list.Items) == 1 {
		return []string{"1 secret, which holds its keys and credentials"}
	}
	return []string{fmt.Sprintf("%d secrets, which hold its keys, credentials and bootstrap data", len(list.Items))}
}

// foreignFinalizers are the machines' and the cluster's finalizers that no controller of the Cluster API removes: the deletion
// waits for whoever put them there.
func foreignFinalizers(s *view.Snapshot) []string {
	var lines []string
	note := func(object string, finalizers []string) {
		for _, f := range finalizers {
			if domain, _, _ := strings.Cut(f, "/"); !ourDomain(domain) {
				lines = append(lines, fmt.Sprintf("until the owner of finalizer %s lets go of %s", f, object))
			}
		}
	}
	note("the cluster", s.Object.Finalizers)
	for i := range s.Machines {
		note("machine "+s.Machines[i].Name, s.Machines[i].Finalizers)
	}
	slices.Sort(lines)
	return lines
}

// ourDomain tells whether the finalizers of a domain belong to the Cluster API, Slipway or Kubernetes itself.
func ourDomain(domain string) bool {
	if !strings.Contains(domain, ".") {
		return true
	}
	for _, ours := range []string{"cluster.x-k8s.io", "slipway.dev", "kubernetes.io"} {
		if domain == ours || strings.HasSuffix(domain, "."+ours) {
			return true
		}
	}
	return false
}
