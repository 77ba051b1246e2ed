package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func nodeColumns() []column {
	return join(text("Name", "Status", "Roles", "Age", "Version"),
		wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"))
}

func nodeRow(n *corev1.Node) []any {
	info := n.Status.NodeInfo
	return []any{
		n.Name, nodeStatus(n), nodeRoles(n), ageOf(n), info.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
		orUnknown(info.OSImage), orUnknown(info.KernelVersion), orUnknown(info.ContainerRuntimeVersion),
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "<unknown>"
	}
	return s
}

func nodeStatus(n *corev1.Node) string {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(n *corev1.Node) string {
	var roles []string
	for key, value := range n.Labels {
		if role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		} else if key == "kubernetes.io/role" && value != "" {
			roles = append(roles, value)
		}
	}
	slices.Sort(roles)
	return orNone(strings.Join(slices.Compact(roles), ","))
}

func nodeAddress(n *corev1.Node, typ corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == typ {
			return a.Address
		}
	}
	return "<none>"
}

func namespaceColumns() []column { return text("Name", "Status", "Age") }

func namespaceRow(n *corev1.Namespace) []any { return []any{n.Name, string(n.Status.Phase), ageOf(n)} }

func podColumns() []column {
	return join(text("Name", "Ready", "Status", "Restarts", "Age"), wide("IP", "Node", "Nominated Node", "Readiness Gates"))
}

func podRow(p *corev1.Pod) []any {
	ready, restarts := 0, int32(0)
	for _, c := range p.Status.ContainerStatuses {
		restarts += c.RestartCount
		if c.Ready && c.State.Running != nil {
			ready++
		}
	}
	gates := "<none>"
	if len(p.Spec.ReadinessGates) > 0 {
		gates = fmt.Sprintf("0/%d", len(p.Spec.ReadinessGates))
	}
	return []any{
		p.Name, fmt.Sprintf("%d/%d", ready, len(p.Spec.Containers)), podStatus(p), fmt.Sprint(restarts), ageOf(p),
		orNone(p.Status.PodIP), orNone(p.Spec.NodeName), orNone(p.Status.NominatedNodeName), gates,
	}
}

// podStatus is the word that kubectl shows for a pod.
func podStatus(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "Terminating"
	}
	reason := string(p.Status.Phase)
	if p.Status.Reason != "" {
		reason = p.Status.Reason
	}
	for _, c := range p.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			reason = c.State.Waiting.Reason
		case c.State.Terminated != nil && c.State.Terminated.Reason != "":
			reason = c.State.Terminated.Reason
		}
	}
	return reason
}

func configMapColumns() []column { return join(text("Name"), number("Data"), text("Age")) }

func configMapRow(c *corev1.ConfigMap) []any {
	return []any{c.Name, int64(len(c.Data) + len(c.BinaryData)), ageOf(c)}
}

func secretColumns() []column { return join(text("Name", "Type"), number("Data"), text("Age")) }

func secretRow(s *corev1.Secret) []any {
	return []any{s.Name, string(s.Type), int64(len(s.Data)), ageOf(s)}
}

func serviceAccountColumns() []column { return text("Name", "Age") }

func serviceAccountRow(s *corev1.ServiceAccount) []any { return []any{s.Name, ageOf(s)} }

func eventColumns() []column {
	return join(text("Last Seen", "Type", "Reason", "Object"), wide("Subobject", "Source"), text("Message"), wide("First Seen", "Count", "Name"))
}

func eventRow(e *corev1.Event) []any {
	first, last := e.FirstTimestamp, e.LastTimestamp
	if first.IsZero() {
		first = metav1.NewTime(e.EventTime.Time)
	}
	if last.IsZero() {
		last = first
	}
	count := e.Count
	if e.Series != nil {
		count, last = e.Series.Count, metav1.NewTime(e.Series.LastObservedTime.Time)
	}
	source := strings.TrimSuffix(e.Source.Component+", "+e.Source.Host, ", ")
	if e.Source.Component == "" {
		source = e.ReportingController
	}
	object := strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
	return []any{
		age(last), e.Type, e.Reason, object, e.InvolvedObject.FieldPath, source, strings.TrimSpace(e.Message),
		age(first), fmt.Sprint(max(1, count)), e.Name,
	}
}

func persistentVolumeColumns() []column {
	return join(text("Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass", "VolumeAttributesClass", "Reason", "Age"),
		wide("VolumeMode"))
}

func persistentVolumeRow(v *corev1.PersistentVolume) []any {
	claim := ""
	if v.Spec.ClaimRef != nil {
		claim = v.Spec.ClaimRef.Namespace + "/" + v.Spec.ClaimRef.Name
	}
	phase := string(v.Status.Phase)
	if v.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	return []any{
		v.Name, quantity(v.Spec.Capacity), accessModes(v.Spec.AccessModes), string(v.Spec.PersistentVolumeReclaimPolicy), phase, claim,
		v.Spec.StorageClassName, unset(v.Spec.VolumeAttributesClassName), v.Status.Reason, ageOf(v), volumeMode(v.Spec.VolumeMode),
	}
}

func persistentVolumeClaimColumns() []column {
	return join(text("Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass", "Age"), wide("VolumeMode"))
}

func persistentVolumeClaimRow(c *corev1.PersistentVolumeClaim) []any {
	phase := string(c.Status.Phase)
	if c.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	capacity, modes := "", ""
	if c.Spec.VolumeName != "" {
		capacity, modes = quantity(c.Status.Capacity), accessModes(c.Status.AccessModes)
	}
	class := ""
	if c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	return []any{
		c.Name, phase, c.Spec.VolumeName, capacity, modes, class, unset(c.Spec.VolumeAttributesClassName), ageOf(c), volumeMode(c.Spec.VolumeMode),
	}
}

func quantity(r corev1.ResourceList) string {
	q, ok := r[corev1.ResourceStorage]
	if !ok {
		return ""
	}
	return q.String()
}

func unset(s *string) string {
	if s == nil || *s == "" {
		return "<unset>"
	}
	return *s
}

func volumeMode(m *corev1.PersistentVolumeMode) string {
	if m == nil {
		return "<unset>"
	}
	return string(*m)
}

func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	short := map[corev1.PersistentVolumeAccessMode]string{
		corev1.ReadWriteOnce: "RWO", corev1.ReadOnlyMany: "ROX", corev1.ReadWriteMany: "RWX", corev1.ReadWriteOncePod: "RWOP",
	}
	var out []string
	for _, m := range modes {
		out = append(out, short[m])
	}
	return strings.Join(out, ",")
}

func deploymentColumns() []column {
	return join(text("Name", "Ready"), number("Up-to-date", "Available"), text("Age"), wide("Containers", "Images", "Selector"))
}

func deploymentRow(d *appsv1.Deployment) []any {
	wanted := int32(0)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	names, images := containers(d.Spec.Template.Spec)
	return []any{
		d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, wanted), int64(d.Status.UpdatedReplicas), int64(d.Status.AvailableReplicas), ageOf(d),
		names, images, metav1.FormatLabelSelector(d.Spec.Selector),
	}
}

func daemonSetColumns() []column {
	return join(text("Name"), number("Desired", "Current", "Ready", "Up-to-date", "Available"), text("Node Selector", "Age"),
		wide("Containers", "Images", "Selector"))
}

func daemonSetRow(d *appsv1.DaemonSet) []any {
	names, images := containers(d.Spec.Template.Spec)
	s := d.Status
	return []any{
		d.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady), int64(s.UpdatedNumberScheduled),
		int64(s.NumberAvailable), labelText(d.Spec.Template.Spec.NodeSelector), ageOf(d), names, images, metav1.FormatLabelSelector(d.Spec.Selector),
	}
}

func containers(s corev1.PodSpec) (names, images string) {
	var n, i []string
	for _, c := range s.Containers {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

func labelText(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return orNone(strings.Join(out, ","))
}

func leaseColumns() []column { return text("Name", "Holder", "Age") }

func leaseRow(l *coordinationv1.Lease) []any {
	holder := ""
	if l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	return []any{l.Name, holder, ageOf(l)}
}

func podDisruptionBudgetColumns() []column {
	return join(text("Name", "Min Available", "Max Unavailable"), number("Allowed Disruptions"), text("Age"))
}

func podDisruptionBudgetRow(b *policyv1.PodDisruptionBudget) []any {
	return []any{b.Name, bound(b.Spec.MinAvailable), bound(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed), ageOf(b)}
}

func bound(v *intstr.IntOrString) string {
	if v == nil {
		return "N/A"
	}
	return v.String()
}

func volumeAttachmentColumns() []column {
	return text("Name", "Attacher", "PV", "Node", "Attached", "Age")
}

func volumeAttachmentRow(a *storagev1.VolumeAttachment) []any {
	volume := ""
	if a.Spec.Source.PersistentVolumeName != nil {
		volume = *a.Spec.Source.PersistentVolumeName
	}
	return []any{a.Name, a.Spec.Attacher, volume, a.Spec.NodeName, fmt.Sprint(a.Status.Attached), ageOf(a)}
}

func bindingColumns() []column {
	return join(text("Name", "Role", "Age"), wide("Users", "Groups", "ServiceAccounts"))
}

func bindingRow(o Object, ref rbacv1.RoleRef, subjects []rbacv1.Subject) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{o.GetName(), ref.Kind + "/" + ref.Name, ageOf(o), strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", ")}
}
