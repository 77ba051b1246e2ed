package workload

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The defaults here are those whose absence clients would trip over; the rest of Kubernetes' defaults change nothing that is
// simulated.

func namespaceDefaults(n *corev1.Namespace) {
	if n.Status.Phase == "" {
		n.Status.Phase = corev1.NamespaceActive
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if n.Name != "" {
		n.Labels[corev1.LabelMetadataName] = n.Name
	}
	if len(n.Spec.Finalizers) == 0 && n.DeletionTimestamp == nil {
		n.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	}
}

func podDefaults(p *corev1.Pod) {
	podSpecDefaults(&p.Spec)
	if p.Status.Phase == "" {
		p.Status.Phase = corev1.PodPending
	}
	if p.Status.QOSClass == "" {
		p.Status.QOSClass = corev1.PodQOSBestEffort
	}
}

func podSpecDefaults(s *corev1.PodSpec) {
	setDefault(&s.RestartPolicy, corev1.RestartPolicyAlways)
	setDefault(&s.DNSPolicy, corev1.DNSClusterFirst)
	setDefault(&s.SchedulerName, corev1.DefaultSchedulerName)
	if s.TerminationGracePeriodSeconds == nil {
		s.TerminationGracePeriodSeconds = new(int64(corev1.DefaultTerminationGracePeriodSeconds))
	}
	for i := range s.Containers {
		setDefault(&s.Containers[i].ImagePullPolicy, corev1.PullIfNotPresent)
		for j := range s.Containers[i].Ports {
			setDefault(&s.Containers[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}

func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

func secretDefaults(s *corev1.Secret) {
	setDefault(&s.Type, corev1.SecretTypeOpaque)
	for k, v := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

func persistentVolumeDefaults(v *corev1.PersistentVolume) {
	setDefault(&v.Status.Phase, corev1.VolumePending)
	setDefault(&v.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
}

func persistentVolumeClaimDefaults(c *corev1.PersistentVolumeClaim) {
	setDefault(&c.Status.Phase, corev1.ClaimPending)
}

func deploymentDefaults(d *appsv1.Deployment) {
	podSpecDefaults(&d.Spec.Template.Spec)
	if d.Spec.Replicas == nil {
		d.Spec.Replicas = new(int32(1))
	}
	setDefault(&d.Spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType && d.Spec.Strategy.RollingUpdate == nil {
		quarter := intstr.FromString("25%")
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxUnavailable: &quarter, MaxSurge: &quarter}
	}
	if d.Spec.RevisionHistoryLimit == nil {
		d.Spec.RevisionHistoryLimit = new(int32(10))
	}
	if d.Spec.ProgressDeadlineSeconds == nil {
		d.Spec.ProgressDeadlineSeconds = new(int32(600))
	}
}

func daemonSetDefaults(d *appsv1.DaemonSet) {
	podSpecDefaults(&d.Spec.Template.Spec)
	setDefault(&d.Spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if d.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType && d.Spec.UpdateStrategy.RollingUpdate == nil {
		one, none := intstr.FromInt32(1), intstr.FromInt32(0)
		d.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &one, MaxSurge: &none}
	}
	if d.Spec.RevisionHistoryLimit == nil {
		d.Spec.RevisionHistoryLimit = new(int32(10))
	}
}

func bindingDefaults(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	setDefault(&ref.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if subjects[i].Kind != rbacv1.ServiceAccountKind {
			setDefault(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

// immutable adapts a rule that compares an update with what it replaces and returns the sentence of what may not change.
func immutable[O Object](f func(obj, old O) string) func(obj, old Object) field.ErrorList {
	return func(obj, old Object) field.ErrorList {
		if old == nil {
			return nil
		}
		if why := f(obj.(O), old.(O)); why != "" {
			return field.ErrorList{field.Forbidden(field.NewPath(""), why)}
		}
		return nil
	}
}

func nodeImmutable(n, old *corev1.Node) string {
	if old.Spec.ProviderID != "" && n.Spec.ProviderID != old.Spec.ProviderID {
		return "spec.providerID may not change once it is set"
	}
	return ""
}

func configMapImmutable(c, old *corev1.ConfigMap) string {
	if old.Immutable != nil && *old.Immutable && (!equality.Semantic.DeepEqual(c.Data, old.Data) || !equality.Semantic.DeepEqual(c.BinaryData, old.BinaryData)) {
		return "data of an immutable ConfigMap may not change"
	}
	return ""
}

func secretImmutable(s, old *corev1.Secret) string {
	if s.Type != old.Type {
		return "type of a Secret may not change"
	}
	if old.Immutable != nil && *old.Immutable && !equality.Semantic.DeepEqual(s.Data, old.Data) {
		return "data of an immutable Secret may not change"
	}
	return ""
}

func roleRefChange(ref, old rbacv1.RoleRef) string {
	if ref != old {
		return "roleRef of a binding may not change"
	}
	return ""
}

func validatePod(obj, old Object) field.ErrorList {
	p, path := obj.(*corev1.Pod), field.NewPath("spec")
	if len(p.Spec.Containers) == 0 {
		return field.ErrorList{field.Required(path.Child("containers"), "")}
	}
	if old != nil && old.(*corev1.Pod).Spec.NodeName != "" && old.(*corev1.Pod).Spec.NodeName != p.Spec.NodeName {
		return field.ErrorList{field.Forbidden(path.Child("nodeName"), "a bound pod may not move")}
	}
	return nil
}

func validateDeployment(obj, old Object) field.ErrorList {
	d := obj.(*appsv1.Deployment)
	errs := validateTemplate(d.Spec.Selector, d.Spec.Template)
	if d.Spec.Replicas != nil && *d.Spec.Replicas < 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "replicas"), *d.Spec.Replicas, "must be greater than or equal to 0"))
	}
	if old != nil && !equality.Semantic.DeepEqual(d.Spec.Selector, old.(*appsv1.Deployment).Spec.Selector) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "selector"), d.Spec.Selector, "field is immutable"))
	}
	return errs
}

func validateDaemonSet(obj, old Object) field.ErrorList {
	d := obj.(*appsv1.DaemonSet)
	errs := validateTemplate(d.Spec.Selector, d.Spec.Template)
	if old != nil && !equality.Semantic.DeepEqual(d.Spec.Selector, old.(*appsv1.DaemonSet).Spec.Selector) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "selector"), d.Spec.Selector, "field is immutable"))
	}
	return errs
}

// validateTemplate checks that a workload makes pods which its selector finds.
func validateTemplate(selector *metav1.LabelSelector, template corev1.PodTemplateSpec) field.ErrorList {
	path, podLabels := field.NewPath("spec", "selector"), template.Labels
	if len(template.Spec.Containers) == 0 {
		return field.ErrorList{field.Required(field.NewPath("spec", "template", "spec", "containers"), "")}
	}
	if selector == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return field.ErrorList{field.Invalid(path, selector, err.Error())}
	}
	if s.Empty() || !s.Matches(labels.Set(podLabels)) {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "template", "metadata", "labels"), podLabels, "`selector` does not match template `labels`")}
	}
	return nil
}

func validateBudget(obj, _ Object) field.ErrorList {
	b, path := obj.(*policyv1.PodDisruptionBudget), field.NewPath("spec")
	if b.Spec.MinAvailable != nil && b.Spec.MaxUnavailable != nil {
		return field.ErrorList{field.Invalid(path, b.Spec.MinAvailable.String(), "minAvailable and maxUnavailable cannot be both set")}
	}
	if _, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err != nil {
		return field.ErrorList{field.Invalid(path.Child("selector"), b.Spec.Selector, err.Error())}
	}
	return nil
}

func nodeFields(o Object) fields.Set {
	return fields.Set{"spec.unschedulable": strconv.FormatBool(o.(*corev1.Node).Spec.Unschedulable)}
}

func namespaceFields(o Object) fields.Set {
	return fields.Set{"status.phase": string(o.(*corev1.Namespace).Status.Phase)}
}

func podFields(o Object) fields.Set {
	p := o.(*corev1.Pod)
	return fields.Set{
		"spec.nodeName":            p.Spec.NodeName,
		"spec.restartPolicy":       string(p.Spec.RestartPolicy),
		"spec.schedulerName":       p.Spec.SchedulerName,
		"spec.serviceAccountName":  p.Spec.ServiceAccountName,
		"spec.hostNetwork":         strconv.FormatBool(p.Spec.HostNetwork),
		"status.phase":             string(p.Status.Phase),
		"status.podIP":             p.Status.PodIP,
		"status.nominatedNodeName": p.Status.NominatedNodeName,
	}
}

func secretFields(o Object) fields.Set { return fields.Set{"type": string(o.(*corev1.Secret).Type)} }

func eventFields(o Object) fields.Set {
	e := o.(*corev1.Event)
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	return fields.Set{
		"involvedObject.kind":            e.InvolvedObject.Kind,
		"involvedObject.namespace":       e.InvolvedObject.Namespace,
		"involvedObject.name":            e.InvolvedObject.Name,
		"involvedObject.uid":             string(e.InvolvedObject.UID),
		"involvedObject.apiVersion":      e.InvolvedObject.APIVersion,
		"involvedObject.resourceVersion": e.InvolvedObject.ResourceVersion,
		"involvedObject.fieldPath":       e.InvolvedObject.FieldPath,
		"reason":                         e.Reason,
		"reportingComponent":             e.ReportingController,
		"source":                         source,
		"type":                           e.Type,
	}
}

func eventViewFields(o Object) fields.Set {
	set := eventFields(eventToCore(o.(*eventsv1.Event)))
	e := o.(*eventsv1.Event)
	set["reportingController"] = e.ReportingController
	set["regarding.kind"], set["regarding.name"] = e.Regarding.Kind, e.Regarding.Name
	set["regarding.namespace"], set["regarding.uid"] = e.Regarding.Namespace, string(e.Regarding.UID)
	return set
}

// eventFromCore shows a v1 Event as events.k8s.io does.
func eventFromCore(e *corev1.Event) *eventsv1.Event {
	out := &eventsv1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime, ReportingController: e.ReportingController,
		ReportingInstance: e.ReportingInstance, Action: e.Action, Reason: e.Reason, Regarding: e.InvolvedObject,
		Related: e.Related, Note: e.Message, Type: e.Type, DeprecatedSource: e.Source,
		DeprecatedFirstTimestamp: e.FirstTimestamp, DeprecatedLastTimestamp: e.LastTimestamp, DeprecatedCount: e.Count,
	}
	if e.Series != nil {
		out.Series = &eventsv1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return out
}

// eventToCore is the reverse of eventFromCore.
func eventToCore(e *eventsv1.Event) *corev1.Event {
	out := &corev1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime, ReportingController: e.ReportingController,
		ReportingInstance: e.ReportingInstance, Action: e.Action, Reason: e.Reason, InvolvedObject: e.Regarding,
		Related: e.Related, Message: e.Note, Type: e.Type, Source: e.DeprecatedSource,
		FirstTimestamp: e.DeprecatedFirstTimestamp, LastTimestamp: e.DeprecatedLastTimestamp, Count: e.DeprecatedCount,
	}
	if e.Series != nil {
		out.Series = &corev1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return out
}
