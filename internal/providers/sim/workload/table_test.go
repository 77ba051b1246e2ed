package workload_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

// shown are objects of every kind that is served, each called x.
func shown() []workload.Object {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "x"}
	cluster := metav1.ObjectMeta{Name: "x"}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels}, Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"disk": "ssd"},
		Containers:   []corev1.Container{{Name: "main", Image: "web:1"}, {Name: "side", Image: "log:2"}},
	}}
	storage := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany}
	subjects := []rbacv1.Subject{
		{Kind: rbacv1.UserKind, Name: "jane", APIGroup: rbacv1.GroupName}, {Kind: rbacv1.GroupKind, Name: "ops", APIGroup: rbacv1.GroupName},
		{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "bot"},
	}
	crashing := pod("default", "x", "n", nil)
	crashing.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
	}}
	return []workload.Object{
		node("x"), &corev1.Namespace{ObjectMeta: cluster, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}, crashing, configMap("x", "v"),
		&corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"a": nil, "b": nil}},
		&corev1.ServiceAccount{ObjectMeta: meta},
		&corev1.Event{
			ObjectMeta: meta, Type: corev1.EventTypeWarning, Reason: "Failed", Message: "it broke", Count: 3, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p", FieldPath: "spec.containers{main}"}, Source: corev1.EventSource{Component: "kubelet", Host: "n"},
		},
		&corev1.PersistentVolume{ObjectMeta: cluster, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}, Spec: corev1.PersistentVolumeSpec{
			Capacity: storage, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, StorageClassName: "fast",
			ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: "x"}, VolumeMode: new(corev1.PersistentVolumeFilesystem),
		}},
		&corev1.PersistentVolumeClaim{
			ObjectMeta: meta, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: storage, AccessModes: modes},
			Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "x", StorageClassName: new("fast"), VolumeMode: new(corev1.PersistentVolumeBlock)},
		},
		&appsv1.Deployment{
			ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Selector: selector, Template: template},
			Status: appsv1.DeploymentStatus{ReadyReplicas: 1, UpdatedReplicas: 2, AvailableReplicas: 1},
		},
		&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}, Status: appsv1.DaemonSetStatus{
			DesiredNumberScheduled: 5, CurrentNumberScheduled: 4, NumberReady: 3, UpdatedNumberScheduled: 2, NumberAvailable: 1,
		}},
		leaseOf("x", new("me")),
		&policyv1.PodDisruptionBudget{
			ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromString("20%")), Selector: selector},
		},
		&storagev1.VolumeAttachment{ObjectMeta: cluster, Status: storagev1.VolumeAttachmentStatus{Attached: true}, Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "csi", NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pv")},
		}},
		&rbacv1.ClusterRole{ObjectMeta: cluster}, &rbacv1.Role{ObjectMeta: meta},
		&rbacv1.ClusterRoleBinding{ObjectMeta: cluster, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}},
		&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"}},
	}
}

// The columns are those of kubectl v1.37: what it shows with -o wide is in brackets.
func TestTables_AreThoseThatKubectlShows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.cluster.Store().Put(shown()...); err != nil {
		t.Fatal(err)
	}
	const (
		core, here = "/api/v1/", "/namespaces/default/"
		binding    = "Name|Role|Age|[Users]|[Groups]|[ServiceAccounts]"
		event      = "Last Seen|Type|Reason|Object|[Subobject]|[Source]|Message|[First Seen]|[Count]|[Name]"
		eventRow   = "0s|Warning|Failed|pod/p|spec.containers{main}|kubelet, n|it broke|0s|3|x"
		workloads  = "[Containers]|[Images]|[Selector]"
	)
	for path, want := range map[string][2]string{
		core + "nodes": {
			"Name|Status|Roles|Age|Version|[Internal-IP]|[External-IP]|[OS-Image]|[Kernel-Version]|[Container-Runtime]",
			"x|Ready|control-plane|0s|v1.37.2|10.0.0.1|<none>|Simulated Linux|6.12.0|containerd://2.4.2",
		},
		core + "namespaces": {"Name|Status|Age", "x|Active|0s"},
		"/api/v1" + here + "pods": {
			"Name|Ready|Status|Restarts|Age|[IP]|[Node]|[Nominated Node]|[Readiness Gates]", "x|0/1|CrashLoopBackOff|3|0s|10.244.0.5|n|<none>|<none>",
		},
		"/api/v1" + here + "configmaps":             {"Name|Data|Age", "x|1|0s"},
		"/api/v1" + here + "secrets":                {"Name|Type|Data|Age", "x|Opaque|2|0s"},
		"/api/v1" + here + "serviceaccounts":        {"Name|Age", "x|0s"},
		"/api/v1" + here + "events":                 {event, eventRow},
		"/apis/events.k8s.io/v1" + here + "events":  {event, eventRow},
		core + "persistentvolumes":                  {"Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|[VolumeMode]", "x|10Gi|RWO,ROX|Retain|Bound|default/x|fast|<unset>||0s|Filesystem"},
		"/api/v1" + here + "persistentvolumeclaims": {"Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|[VolumeMode]", "x|Bound|x|10Gi|RWO,ROX|fast|<unset>|0s|Block"},
		"/apis/apps/v1" + here + "deployments":      {"Name|Ready|Up-to-date|Available|Age|" + workloads, "x|1/3|2|1|0s|main,side|web:1,log:2|app=x"},
		"/apis/apps/v1" + here + "daemonsets": {
			"Name|Desired|Current|Ready|Up-to-date|Available|Node Selector|Age|" + workloads, "x|5|4|3|2|1|disk=ssd|0s|main,side|web:1,log:2|app=x",
		},
		"/apis/coordination.k8s.io/v1/leases":                        {"Name|Holder|Age", "x|me|0s"},
		"/apis/policy/v1" + here + "poddisruptionbudgets":            {"Name|Min Available|Max Unavailable|Allowed Disruptions|Age", "x|N/A|20%|0|0s"},
		"/apis/storage.k8s.io/v1/volumeattachments":                  {"Name|Attacher|PV|Node|Attached|Age", "x|csi|pv|n|true|0s"},
		"/apis/rbac.authorization.k8s.io/v1/clusterroles":            {"Name|Created At", "x|0s"},
		"/apis/rbac.authorization.k8s.io/v1" + here + "roles":        {"Name|Created At", "x|0s"},
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings":     {binding, "x|ClusterRole/view|0s|jane|ops|default/bot"},
		"/apis/rbac.authorization.k8s.io/v1" + here + "rolebindings": {binding, "x|Role/reader|0s|jane|ops|default/bot"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			body := must[[]byte](t)(w.clientset().RESTClient().Get().AbsPath(path).Param("fieldSelector", "metadata.name=x").
				SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json").DoRaw(t.Context()))
			var table metav1.Table
			if err := json.Unmarshal(body, &table); err != nil {
				t.Fatal(err)
			}
			if len(table.Rows) != 1 || len(table.Rows[0].Cells) != len(table.ColumnDefinitions) {
				t.Fatalf("%d rows, %d columns: %s", len(table.Rows), len(table.ColumnDefinitions), body)
			}
			var columns, cells []string
			for i, c := range table.ColumnDefinitions {
				name, cell := c.Name, fmt.Sprint(table.Rows[0].Cells[i])
				if c.Priority > 0 {
					name = "[" + name + "]"
				}
				if strings.HasSuffix(c.Name, "Age") || strings.HasSuffix(c.Name, "Seen") || c.Name == "Created At" {
					if cell == "" || cell == "<unknown>" {
						t.Errorf("%s is %q", c.Name, cell)
					}
					cell = "0s"
				}
				columns, cells = append(columns, name), append(cells, cell)
			}
			if got := [2]string{strings.Join(columns, "|"), strings.Join(cells, "|")}; got != want {
				t.Errorf("shown is\n%s\nwant\n%s", strings.Join(got[:], "\n"), strings.Join(want[:], "\n"))
			}
		})
	}
}
