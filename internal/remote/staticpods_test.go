package remote

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStaticPods_SayHowTheyDo(t *testing.T) {
	t.Parallel()
	waiting := func(phase corev1.PodPhase, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
				Name: "etcd", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
			}}}
		}
	}
	for _, tc := range []struct {
		name    string
		change  func(*corev1.Pod)
		health  PodHealth
		message string
	}{
		{"ready", func(*corev1.Pod) {}, PodRunning, ""},
		{"not ready", func(p *corev1.Pod) { p.Status.Conditions = nil }, PodProvisioning, "Pod etcd-a runs and is not ready yet"},
		{"crashing", waiting(corev1.PodRunning, "CrashLoopBackOff"), PodFailed, "Pod etcd-a: container etcd waits: CrashLoopBackOff"},
		{"pulling", waiting(corev1.PodPending, "ContainerCreating"), PodProvisioning, "Pod etcd-a waits for its containers to start"},
		{"no image", waiting(corev1.PodPending, "ErrImagePull"), PodFailed, "Pod etcd-a: container etcd waits: ErrImagePull"},
		{"ended", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, PodFailed, "Pod etcd-a has ended"},
		{"evicted", func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Message: "no memory"} }, PodFailed, "Pod etcd-a has failed: no memory"},
		{"deleted", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, PodDeleting, "Pod etcd-a is being deleted"},
		{"silent", func(p *corev1.Pod) { p.Status = corev1.PodStatus{} }, PodProvisioning, "Pod etcd-a has not reported a phase yet"},
	} {
		pod := staticPod(EtcdServer, "a", "3.7.0-0")
		tc.change(pod)
		if health, message := podHealth(pod); health != tc.health || message != tc.message {
			t.Errorf("%s: %s %q, want %s %q", tc.name, health, message, tc.health, tc.message)
		}
	}
}

func TestStaticPods_TellTheVersionOfTheImage(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{
		"registry.k8s.io/kube-apiserver:v1.37.2":        "v1.37.2",
		"localhost:5000/kube-apiserver:v1.37.2":         "v1.37.2",
		"localhost:5000/kube-apiserver":                 "",
		"kube-apiserver:v1.37.2@sha256:abcdef":          "v1.37.2",
		"localhost:5000/x/kube-apiserver@sha256:abcdef": "",
	} {
		if got := imageTag(image); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
}

func TestStaticPods_ChangesAreToldOnceAndHealthyEtcdComesFirst(t *testing.T) {
	t.Parallel()
	var told []string
	store := newPodStore(func(node string) { told = append(told, node) })
	sick := staticPod(EtcdServer, "a", "3.7.0-0")
	sick.Status.Conditions = nil
	store.replace([]*corev1.Pod{sick, staticPod(EtcdServer, "c", "3.7.0-0"), staticPod(EtcdServer, "b", "3.7.0-0"), staticPod("coredns", "x", "")})
	store.put(staticPod(EtcdServer, "b", "3.7.0-0"))
	store.put(staticPod(EtcdServer, "b", "3.7.1-0"))
	store.remove("etcd-c")
	store.remove("etcd-c")
	if want := []string{"a", "c", "b", "b", "c"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if got := store.etcdNodes(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("etcd on %v", got)
	}
	if got := contacts([]string{"b", "a"}, []string{"b"}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("avoiding b: %v", got)
	}
	if got := contacts([]string{"b"}, []string{"b"}); !slices.Equal(got, []string{"b"}) {
		t.Errorf("avoiding the only one: %v", got)
	}
}
