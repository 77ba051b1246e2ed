package machine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
)

// controlPlane makes the Machine of a control plane, without which no Node is drained.
func controlPlane(w *world) *clusterv1.Machine {
	w.Helper()
	return w.machine("cp", func(m *clusterv1.Machine) { m.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""} })
}

// held puts a finalizer on the infrastructure object, as a provider does.
func held(w *world, name string) {
	w.Helper()
	w.Edit("Machine", name, map[string]any{"metadata.finalizers": []any{"fake.slipway.dev/machine"}})
}

func release(w *world, name string) {
	w.Helper()
	w.Edit("Machine", name, map[string]any{"metadata.finalizers": []any{}})
}

func pod(name, nodeName string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: nodeName, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func deleting(m *clusterv1.Machine, reason, part string) error {
	return errors.Join(hasReason(m, clusterv1.DeletingCondition, reason), says(m, clusterv1.DeletingCondition, part))
}

func says(m *clusterv1.Machine, conditionType, part string) error {
	if message := conditions.Message(m.Status.Conditions, conditionType); !strings.Contains(message, part) {
		return fmt.Errorf("the message of %s is %q, want %q in it", conditionType, message, part)
	}
	return nil
}

func TestDeletion_GoesStepByStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	controlPlane(w)
	m := w.running("worker", func(m *clusterv1.Machine) {
		m.Annotations = map[string]string{
			clusterv1.PreDrainDeleteHookAnnotationPrefix + "/a": "", clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/b": "",
		}
	})
	held(w, "worker")
	daemons := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ds"}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ds"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "ds"}}, Spec: pod("", "").Spec},
	}}
	w.must(w.workload.Create(t.Context(), daemons))
	w.must(w.workload.Create(t.Context(), pod("plain", "worker")))
	staying := pod("ds-1", "worker", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(daemons, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	})
	w.must(w.workload.Create(t.Context(), staying))

	w.must(w.Delete(t.Context(), m))
	w.until(m, func(m *clusterv1.Machine) error {
		return deleting(m, clusterv1.MachineDeletingWaitingForPreDrainHookReason, clusterv1.PreDrainDeleteHookAnnotationPrefix+"/a")
	})
	w.must(w.workload.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "plain"}, &corev1.Pod{}))
	unhook(w, m, clusterv1.PreDrainDeleteHookAnnotationPrefix+"/a")

	waiting := w.until(m, func(m *clusterv1.Machine) error {
		return deleting(m, clusterv1.MachineDeletingWaitingForPreTerminateHookReason, clusterv1.PreTerminateDeleteHookAnnotationPrefix+"/b")
	})
	if d := waiting.Status.Deletion; d == nil || d.NodeDrainStartTime.IsZero() || d.WaitForPreTerminateHookStartTime.IsZero() {
		t.Errorf("the starts are %+v", d)
	}
	w.untilGone(w.workload, pod("plain", "worker"))
	w.must(w.workload.Get(t.Context(), client.ObjectKeyFromObject(staying), staying))
	node := &corev1.Node{}
	w.must(w.workload.Get(t.Context(), client.ObjectKey{Name: "worker"}, node))
	if !node.Spec.Unschedulable {
		t.Error("the Node takes new Pods")
	}
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(w.Fake("Machine", "worker")), w.Fake("Machine", "worker")))
	unhook(w, m, clusterv1.PreTerminateDeleteHookAnnotationPrefix+"/b")

	w.until(m, func(m *clusterv1.Machine) error {
		return deleting(m, clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, "FakeV1beta2Machine worker")
	})
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(w.Fake("Config", "worker")), w.Fake("Config", "worker")))
	release(w, "worker")
	w.untilGone(w, m)
	w.untilGone(w.workload, node)
	w.untilGone(w, w.Fake("Config", "worker"))
}

func unhook(w *world, m *clusterv1.Machine, annotation string) {
	w.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, annotation)
	w.must(w.Patch(w.Context(), m.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))))
}

func TestDrain_WaitsForDisruptionBudgetsAndGivesUpInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	controlPlane(w)
	m := w.running("worker", func(m *clusterv1.Machine) { m.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(5)) })
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "all-stay"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "kept"}},
		},
	}
	w.must(w.workload.Create(t.Context(), budget))
	kept := pod("kept", "worker")
	w.must(w.workload.Create(t.Context(), kept))
	// A budget protects only Pods that run.
	kept.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	w.must(w.workload.Status().Update(t.Context(), kept))
	w.must(w.Delete(t.Context(), m))
	w.until(m, func(m *clusterv1.Machine) error {
		return errors.Join(deleting(m, clusterv1.MachineDeletingDrainingNodeReason, "disruption budget"), deleting(m, clusterv1.MachineDeletingDrainingNodeReason, "all-stay"))
	})
	w.untilGone(w, m)
	w.untilGone(w.workload, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}})
}

func TestDrain_FollowsMachineDrainRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	controlPlane(w)
	m := w.running("worker")
	for name, behavior := range map[string]clusterv1.MachineDrainRuleDrainBehavior{
		"left": clusterv1.MachineDrainRuleDrainBehaviorSkip, "job": clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted,
	} {
		w.must(w.Create(t.Context(), &clusterv1.MachineDrainRule{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
			Spec: clusterv1.MachineDrainRuleSpec{
				Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: behavior},
				Pods:  []clusterv1.MachineDrainRulePodSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}},
			},
		}))
		w.must(w.workload.Create(t.Context(), pod(name, "worker")))
	}
	w.must(w.Delete(t.Context(), m))
	w.until(m, func(m *clusterv1.Machine) error {
		return deleting(m, clusterv1.MachineDeletingDrainingNodeReason, "Pod default/job: waiting for completion")
	})
	w.must(w.workload.Delete(t.Context(), pod("job", ""), client.GracePeriodSeconds(0)))
	w.untilGone(w, m)
}

// attached attaches a volume to the Node worker.
func attached(w *world) *storagev1.VolumeAttachment {
	w.Helper()
	w.must(w.workload.Create(w.Context(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}},
		ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "claim"},
	}}))
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va"}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "d", NodeName: "worker", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pv")},
	}}
	w.must(w.workload.Create(w.Context(), a))
	a.Status.Attached = true
	w.must(w.workload.Status().Update(w.Context(), a))
	return a
}

func TestDeletion_WaitsForVolumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	controlPlane(w)
	m := w.running("worker")
	attachment := attached(w)
	w.must(w.Delete(t.Context(), m))
	w.until(m, func(m *clusterv1.Machine) error {
		return deleting(m, clusterv1.MachineDeletingWaitingForVolumeDetachReason, "default/claim")
	})
	w.must(w.workload.Delete(t.Context(), attachment))
	w.untilGone(w, m)
}

// A kubelet that knows of a volume keeps it in use even where nobody has an attachment for it.
func TestDeletion_WaitsForVolumesThatOnlyTheNodeNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	controlPlane(w)
	m := w.running("worker")
	w.must(w.workload.Delete(t.Context(), attached(w)))
	volumes := func(list ...corev1.AttachedVolume) {
		node := &corev1.Node{}
		w.must(w.workload.Get(t.Context(), client.ObjectKey{Name: "worker"}, node))
		before := node.DeepCopy()
		node.Status.VolumesAttached = list
		w.must(w.workload.Status().Patch(t.Context(), node, client.MergeFrom(before)))
	}
	volumes(corev1.AttachedVolume{Name: "kubernetes.io/csi/d^h", DevicePath: "/dev/sdb"})
	w.must(w.Delete(t.Context(), m))
	w.until(m, func(m *clusterv1.Machine) error {
		return deleting(m, clusterv1.MachineDeletingWaitingForVolumeDetachReason, "default/claim")
	})
	volumes()
	w.untilGone(w, m)
}

// With these annotations users say that what the Node holds may be left behind.
func TestDeletion_LeavesOutWhatItsAnnotationsExclude(t *testing.T) {
	t.Parallel()
	for name, annotations := range map[string]map[string]string{
		"draining": {clusterv1.ExcludeNodeDrainingAnnotation: ""},
		"volumes":  {clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation: ""},
		"both":     {clusterv1.ExcludeNodeDrainingAnnotation: "", clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, contract.V1Beta2)
			controlPlane(w)
			m := w.running("worker", func(m *clusterv1.Machine) { m.Annotations = annotations })
			attachment, plain := attached(w), pod("plain", "worker")
			w.must(w.workload.Create(t.Context(), plain))
			w.must(w.Delete(t.Context(), m))
			_, undrained := annotations[clusterv1.ExcludeNodeDrainingAnnotation]
			if _, ok := annotations[clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation]; !ok {
				w.until(m, func(m *clusterv1.Machine) error {
					return deleting(m, clusterv1.MachineDeletingWaitingForVolumeDetachReason, "default/claim")
				})
				w.must(w.workload.Delete(t.Context(), attachment))
			}
			w.untilGone(w, m)
			err := w.workload.Get(t.Context(), client.ObjectKeyFromObject(plain), plain)
			if stays := err == nil; stays != undrained || client.IgnoreNotFound(err) != nil {
				t.Errorf("the Pod is there: %t, want %t (%v)", stays, undrained, err)
			}
		})
	}
}

// Where others run the control plane, no Machine of it says that somebody still serves the Nodes.
func TestDeletion_DrainsWhereTheControlPlaneIsManagedElsewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []contract.Version{contract.V1Beta1, contract.V1Beta2} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c)
			w.must(w.Create(t.Context(), w.Fake("ControlPlane", clusterName)))
			w.Edit("ControlPlane", clusterName, map[string]any{"status.externalManagedControlPlane": true})
			before := w.cluster.DeepCopy()
			w.cluster.Spec.ControlPlaneRef = w.Ref("ControlPlane", clusterName)
			w.must(w.Patch(t.Context(), w.cluster, client.MergeFrom(before)))
			m := w.running("worker")
			job := pod("job", "worker", func(p *corev1.Pod) { p.Labels = map[string]string{clusterv1.PodDrainLabel: "wait-completed"} })
			w.must(w.workload.Create(t.Context(), job))
			w.must(w.Delete(t.Context(), m))
			w.until(m, func(m *clusterv1.Machine) error {
				return deleting(m, clusterv1.MachineDeletingDrainingNodeReason, "Pod default/job: waiting for completion")
			})
			w.must(w.workload.Delete(t.Context(), job, client.GracePeriodSeconds(0)))
			w.untilGone(w, m)
			w.untilGone(w.workload, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}})
		})
	}
}

// A Cluster that is gone, or whose Nodes are out of reach for good, keeps no Machine.
func TestDeletion_GoesOnWithoutTheWorkloadCluster(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*world){
		"the Cluster is being deleted": func(w *world) { w.must(w.Delete(w.Context(), w.cluster)) },
		"the kubeconfig is gone": func(w *world) {
			w.must(w.Delete(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: clusterName + "-kubeconfig"}}))
		},
		"the Node's deletion times out": func(w *world) {
			w.must(w.served.SetReachable(false))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, contract.V1Beta1)
			controlPlane(w)
			m := w.running("worker", func(m *clusterv1.Machine) {
				m.Spec.Deletion = clusterv1.MachineDeletionSpec{
					NodeDrainTimeoutSeconds: new(int32(2)), NodeVolumeDetachTimeoutSeconds: new(int32(2)), NodeDeletionTimeoutSeconds: new(int32(5)),
				}
			})
			lose(w)
			w.must(w.Delete(t.Context(), m))
			w.untilGone(w, m)
			w.untilGone(w, w.Fake("Machine", "worker"))
		})
	}
}

// The time to delete a Node may be over before its turn comes: nothing but the end of the infrastructure decides when.
func TestDeletion_DeletesTheNodeHoweverLongTheInfrastructureTakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	controlPlane(w)
	m := w.running("worker", func(m *clusterv1.Machine) { m.Spec.Deletion.NodeDeletionTimeoutSeconds = new(int32(1)) })
	held(w, "worker")
	w.must(w.Delete(t.Context(), m))
	w.until(m, func(m *clusterv1.Machine) error {
		if since := time.Since(m.DeletionTimestamp.Time); since < 3*time.Second {
			return fmt.Errorf("it is being deleted since %s only", since)
		}
		return deleting(m, clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, "")
	})
	release(w, "worker")
	w.untilGone(w, m)
	w.untilGone(w.workload, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}})
}

// An object that was made a moment ago, and that the cache does not show yet, would be left behind for good.
func TestDeletion_TakesWhatTheCacheDoesNotShowYet(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"Machine", "Config"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			lag := &planetest.Lag{}
			w := newWorldBy(t, lag.Config(planetest.Config(t)), manager.ControllerOptions(), contract.V1Beta2)
			// Of the first Machine's objects the cache learns when it lists them.
			w.until(w.machine("first"), func(m *clusterv1.Machine) error {
				return errors.Join(hasReason(m, clusterv1.InfrastructureReadyCondition, clusterv1.NotReadyReason),
					hasReason(m, clusterv1.BootstrapConfigReadyCondition, clusterv1.NotReadyReason))
			})
			lag.Hold(w.Plural(role))
			m := w.machine("worker")
			w.until(m, func(m *clusterv1.Machine) error {
				if len(m.Finalizers) == 0 {
					return errors.New("not claimed")
				}
				return nil
			})
			w.must(w.Delete(t.Context(), m))
			w.until(m, func(m *clusterv1.Machine) error {
				if m.Status.Phase != string(clusterv1.MachinePhaseDeleting) {
					return errors.New("its phase is " + m.Status.Phase)
				}
				return nil
			})
			lag.Release()
			w.untilGone(w, m)
			w.untilGone(w, w.Fake("Machine", "worker"))
			w.untilGone(w, w.Fake("Config", "worker"))
		})
	}
}

// A Node that cannot be deleted is tried until its time is over, and somebody is told of it.
func TestDeletion_TellsOfANodeThatStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	controlPlane(w)
	m := w.running("worker", func(m *clusterv1.Machine) {
		m.Spec.Deletion = clusterv1.MachineDeletionSpec{
			NodeDrainTimeoutSeconds: new(int32(1)), NodeVolumeDetachTimeoutSeconds: new(int32(1)), NodeDeletionTimeoutSeconds: new(int32(3)),
		}
	})
	w.must(w.served.SetReachable(false))
	w.must(w.Delete(t.Context(), m))
	w.untilGone(w, m)
	planetest.Told(t, w, m, "FailedDeleteNode", "Node worker is left behind")
}

// What lets a Machine go without its Node may happen after its cluster has fallen silent, which makes no more events.
func TestDeletion_NoticesThatNobodyServesTheNodeAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	cp := controlPlane(w)
	m := w.running("worker")
	w.must(w.served.SetReachable(false))
	w.must(w.Delete(t.Context(), m))
	w.until(m, func(m *clusterv1.Machine) error {
		return deleting(m, clusterv1.MachineDeletingDrainingNodeReason, "does not answer")
	})
	quiet(t, w)
	w.must(w.Delete(t.Context(), cp))
	w.untilGone(w, m)
}

// Only the loss of its Machines ends a control plane; that its object is not there, as after a restore, does not.
func TestDeletion_DrainsWhileTheControlPlanesObjectIsMissing(t *testing.T) {
	t.Parallel()
	for name, ref := range map[string]func(*world) clusterv1.ContractVersionedObjectReference{
		"the object is missing": func(w *world) clusterv1.ContractVersionedObjectReference { return w.Ref("ControlPlane", "lost") },
		"its kind is missing": func(*world) clusterv1.ContractVersionedObjectReference {
			return clusterv1.ContractVersionedObjectReference{APIGroup: "nowhere.dev", Kind: "NothingControlPlane", Name: "lost"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, contract.V1Beta2)
			controlPlane(w)
			m := w.running("worker")
			before := w.cluster.DeepCopy()
			w.cluster.Spec.ControlPlaneRef = ref(w)
			w.must(w.Patch(t.Context(), w.cluster, client.MergeFrom(before)))
			w.must(w.workload.Create(t.Context(), pod("job", "worker", func(p *corev1.Pod) {
				p.Labels = map[string]string{clusterv1.PodDrainLabel: "wait-completed"}
			})))
			w.must(w.Delete(t.Context(), m))
			w.until(m, func(m *clusterv1.Machine) error {
				return deleting(m, clusterv1.MachineDeletingDrainingNodeReason, "Pod default/job: waiting for completion")
			})
			w.must(w.workload.Delete(t.Context(), pod("job", ""), client.GracePeriodSeconds(0)))
			w.untilGone(w, m)
		})
	}
}

// A Node that registers while its Machine is going must not be left behind.
func TestDeletion_FindsANodeThatRegistersLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	controlPlane(w)
	m := w.machine("worker")
	w.bootstrapped("worker")
	w.provisioned("worker")
	w.until(m, func(m *clusterv1.Machine) error {
		if m.Spec.ProviderID == "" {
			return errors.New("no provider ID")
		}
		return nil
	})
	held(w, "worker")
	w.must(w.Delete(t.Context(), m))
	w.until(m, func(m *clusterv1.Machine) error {
		return deleting(m, clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, "")
	})
	node := w.joined("worker")
	release(w, "worker")
	w.untilGone(w, m)
	w.untilGone(w.workload, node)
}

func TestMachine_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	m := w.running("worker")
	w.must(w.Delete(t.Context(), w.Fake("Machine", "worker")))
	lost := w.until(m, func(m *clusterv1.Machine) error {
		return errors.Join(hasReason(m, clusterv1.InfrastructureReadyCondition, clusterv1.ObjectDeletedReason), hasReason(m, clusterv1.ReadyCondition, clusterv1.NotReadyReason))
	})
	if v := lost.Status.Deprecated.V1Beta1; v.FailureReason == nil || *v.FailureReason != "InvalidConfiguration" {
		t.Errorf("failureReason is %v", v.FailureReason)
	}
	w.must(w.workload.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}))
	w.until(m, func(m *clusterv1.Machine) error {
		return hasReason(m, clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeDeletedReason)
	})

	strange := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "strange"}, Spec: clusterv1.MachineSpec{
		ClusterName: clusterName, Bootstrap: clusterv1.Bootstrap{DataSecretName: new("")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "nowhere.dev", Kind: "Nothing", Name: "x"},
	}}
	w.must(w.Create(t.Context(), strange))
	w.until(strange, func(m *clusterv1.Machine) error {
		return errors.Join(hasReason(m, clusterv1.InfrastructureReadyCondition, contract.KindNotInstalledReason),
			hasReason(m, clusterv1.BootstrapConfigReadyCondition, clusterv1.MachineBootstrapDataSecretProvidedReason))
	})
	w.must(w.Delete(t.Context(), strange))
	w.untilGone(w, strange)
}

func TestMachine_PausedChangesNothingButTheCondition(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	m := w.running("worker")
	before := w.until(m, func(m *clusterv1.Machine) error { return isTrue(m, clusterv1.AvailableCondition) })
	w.must(w.Patch(t.Context(), m.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`))))
	paused := w.until(m, func(m *clusterv1.Machine) error {
		return isTrue(m, clusterv1.PausedCondition, clusterv1.ReadyCondition)
	})
	if paused.Status.NodeRef != before.Status.NodeRef || paused.Status.Phase != before.Status.Phase || paused.Status.NodeInfo == nil {
		t.Errorf("the status became %+v", paused.Status)
	}
	w.must(w.workload.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}))
	w.must(w.Delete(t.Context(), m))
	still := func(ctx context.Context) error {
		return w.Get(ctx, client.ObjectKeyFromObject(m), &clusterv1.Machine{})
	}
	quiet(t, w)
	w.must(still(t.Context()))
	w.must(w.Patch(t.Context(), m.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`))))
	w.untilGone(w, m)
}

func TestMachine_StatusThatWasLostComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	m := w.running("worker")
	before := w.until(m, func(m *clusterv1.Machine) error { return isTrue(m, clusterv1.AvailableCondition) })
	w.must(w.Status().Patch(t.Context(), m.DeepCopy(), client.RawPatch("application/json-patch+json", []byte(`[{"op":"remove","path":"/status"}]`))))
	after := w.until(m, func(m *clusterv1.Machine) error { return isTrue(m, clusterv1.AvailableCondition) })
	if after.Status.NodeRef != before.Status.NodeRef || after.Status.Phase != before.Status.Phase || len(after.Status.Conditions) != len(before.Status.Conditions) {
		t.Errorf("the status is %+v, was %+v", after.Status, before.Status)
	}
}

// Other controllers write conditions of the same Machine all the time; none is lost.
func TestMachine_ConditionsOfOthersStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, contract.V1Beta2)
	m := w.running("worker", func(m *clusterv1.Machine) {
		m.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "Gate"}}
	})
	body := fmt.Sprintf(`{"apiVersion":%q,"kind":"Machine","metadata":{"name":"worker","namespace":%q},"status":{"conditions":[{"type":"Gate","status":"True","reason":"Open","message":"","lastTransitionTime":%q}]}}`,
		clusterv1.GroupVersion.String(), w.namespace, time.Now().UTC().Format(time.RFC3339))
	w.must(w.Status().Patch(t.Context(), m.DeepCopy(), client.RawPatch("application/apply-patch+yaml", []byte(body)), client.FieldOwner("somebody"), client.ForceOwnership))
	w.until(m, func(m *clusterv1.Machine) error { return isTrue(m, "Gate", clusterv1.ReadyCondition) })
	w.must(w.workload.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}))
	w.until(m, func(m *clusterv1.Machine) error {
		return errors.Join(isTrue(m, "Gate"), hasReason(m, clusterv1.ReadyCondition, clusterv1.NotReadyReason))
	})
}
