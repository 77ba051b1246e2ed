package drain

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/plan"
)

// pageSize bounds one answer to a list.
const pageSize = 100

// mirrorAnnotation marks a Pod that mirrors a static one.
const mirrorAnnotation = corev1.MirrorPodAnnotationKey

// lookups remembers what was read of other objects while the Pods of one Node are looked at.
type lookups struct {
	workload   client.Client
	daemonSets map[client.ObjectKey]plan.Tri
	namespaces map[string]map[string]string
}

// podFacts reads the Pods of the Node.
func (n Node) podFacts(ctx context.Context) ([]plan.DrainPodFacts, error) {
	seen := lookups{workload: n.Workload, daemonSets: map[client.ObjectKey]plan.Tri{}, namespaces: map[string]map[string]string{}}
	var all []plan.DrainPodFacts
	pods := &corev1.PodList{}
	for next := ""; ; next = pods.Continue {
		err := n.Workload.List(ctx, pods, client.MatchingFields{"spec.nodeName": n.Object.Name}, client.Limit(pageSize), client.Continue(next))
		if err != nil {
			return nil, fmt.Errorf("list Pods of Node %s: %w", n.Object.Name, err)
		}
		for i := range pods.Items {
			facts, err := n.factsOf(ctx, &pods.Items[i], seen)
			if err != nil {
				return nil, err
			}
			all = append(all, facts)
		}
		if pods.Continue == "" {
			return all, nil
		}
	}
}

func (n Node) factsOf(ctx context.Context, pod *corev1.Pod, seen lookups) (plan.DrainPodFacts, error) {
	owner := metav1.GetControllerOf(pod)
	_, mirror := pod.Annotations[mirrorAnnotation]
	f := plan.DrainPodFacts{
		Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels,
		DaemonSet:    owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String(),
		Mirror:       mirror,
		Finished:     pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Uncontrolled: owner == nil,
		EmptyDir:     slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil }),
		Claims:       claims(pod),
	}
	if pod.DeletionTimestamp != nil {
		f.DeletedAt = pod.DeletionTimestamp.Time
	}
	var err error
	if f.DaemonSet && !f.Finished {
		if f.DaemonSetExists, err = seen.daemonSet(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: owner.Name}); err != nil {
			return f, err
		}
	}
	if usesNamespaces(n.Rules) {
		f.NamespaceLabels, err = seen.namespaceLabels(ctx, pod.Namespace)
	}
	return f, err
}

// claims are the names of the PersistentVolumeClaims of a Pod; that of an ephemeral volume is named for both.
func claims(pod *corev1.Pod) []string {
	var names []string
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, pod.Name+"-"+v.Name)
		}
	}
	return names
}

func (l lookups) daemonSet(ctx context.Context, key client.ObjectKey) (plan.Tri, error) {
	if known, ok := l.daemonSets[key]; ok {
		return known, nil
	}
	err := l.workload.Get(ctx, key, &appsv1.DaemonSet{})
	if client.IgnoreNotFound(err) != nil {
		return plan.Unknown, fmt.Errorf("get DaemonSet %s: %w", key, err)
	}
	l.daemonSets[key] = plan.TriOf(err == nil)
	return l.daemonSets[key], nil
}

func (l lookups) namespaceLabels(ctx context.Context, name string) (map[string]string, error) {
	if known, ok := l.namespaces[name]; ok {
		return known, nil
	}
	namespace := &corev1.Namespace{}
	if err := l.workload.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get Namespace %s: %w", name, err)
	}
	l.namespaces[name] = namespace.Labels
	return namespace.Labels, nil
}

func usesNamespaces(rules []plan.DrainRule) bool {
	return slices.ContainsFunc(rules, func(r plan.DrainRule) bool {
		return slices.ContainsFunc(r.Pods, func(s plan.DrainPodSelector) bool { return s.Namespace != nil })
	})
}
