package kubeadmconfig

import (
	"cmp"
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/apply"
	bootstrapv1ac "slipway.dev/slipway/internal/applyconfigurations/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/replicas"
)

const (
	dataAvailable         = bootstrapv1.KubeadmConfigDataSecretAvailableCondition
	certificatesAvailable = bootstrapv1.KubeadmConfigCertificatesAvailableCondition
)

// owned are the conditions that this controller writes.
func owned() []string {
	return []string{clusterv1.ReadyCondition, dataAvailable, certificatesAvailable, clusterv1.PausedCondition}
}

// report writes the status if it differs from what is observed. That a machine waits is told only when it lasts.
func (r *Reconciler) report(ctx context.Context, s *scene, acted error) error {
	want := s.status(acted)
	if same(&s.config.Status, &want) {
		return nil
	}
	if left := r.patience(s, acted); left > 0 {
		return outcome.Quietly(left, "Paced", "the wait may be over soon")
	}
	configuration, err := apply.Convert[bootstrapv1ac.KubeadmConfigStatusApplyConfiguration](want)
	if err != nil {
		return err
	}
	r.pace.Wrote(s.config.UID, s.now)
	_, err = r.own.ApplyStatus(ctx, s.config, bootstrapv1ac.KubeadmConfig(s.config.Name, s.config.Namespace).WithUID(s.config.UID).WithStatus(configuration))
	return err
}

// patience is for how long a status that says nothing but that the machine waits may still be held back.
func (r *Reconciler) patience(s *scene, acted error) time.Duration {
	if _, waits := outcome.AsWait(acted); !waits || s.dataName != "" {
		return 0
	}
	if _, _, stalled := problem(acted); stalled {
		return 0
	}
	return max(s.config.CreationTimestamp.Add(firstReport).Sub(s.now), r.pace.Wait(s.config.UID, s.now))
}

func same(observed, want *bootstrapv1.KubeadmConfigStatus) bool {
	return conditions.EqualOwned(observed.Conditions, want.Conditions, owned()...) &&
		conditions.EqualV1Beta1(v1beta1(observed), v1beta1(want)) &&
		observed.DataSecretName == want.DataSecretName &&
		isTrue(observed.Initialization.DataSecretCreated) == isTrue(want.Initialization.DataSecretCreated) &&
		observed.ObservedGeneration == want.ObservedGeneration
}

func v1beta1(s *bootstrapv1.KubeadmConfigStatus) clusterv1.Conditions {
	if s.Deprecated == nil || s.Deprecated.V1Beta1 == nil {
		return nil
	}
	return s.Deprecated.V1Beta1.Conditions
}

// status is what the status has to be. Data once made known stays known.
func (s *scene) status(acted error) bootstrapv1.KubeadmConfigStatus {
	observed := &s.config.Status
	status := bootstrapv1.KubeadmConfigStatus{
		DataSecretName: observed.DataSecretName, Initialization: *observed.Initialization.DeepCopy(), ObservedGeneration: observed.ObservedGeneration,
		Deprecated: observed.Deprecated.DeepCopy(),
	}
	paused := replicas.Paused(s.cluster, s.config)
	if s.paused {
		status.Conditions = conditions.Only(observed.Conditions, owned()...)
		conditions.Set(&status.Conditions, paused, s.config.Generation, s.now)
		return status
	}
	if s.dataName != "" {
		status.DataSecretName, status.Initialization.DataSecretCreated = s.dataName, new(true)
	}
	if _, failed := outcome.Result(acted); failed == nil {
		status.ObservedGeneration = s.config.Generation
	}
	want := append(s.own(acted, isTrue(status.Initialization.DataSecretCreated)), paused)
	ready := conditions.Summary{
		Type: clusterv1.ReadyCondition, For: []string{dataAvailable, certificatesAvailable}, IgnoreIfAbsent: []string{certificatesAvailable},
	}.Of(want)
	status.Conditions = conditions.Stamp(observed.Conditions, append(want, ready), s.config.Generation, s.now)
	status.Deprecated = &bootstrapv1.KubeadmConfigDeprecatedStatus{V1Beta1: &bootstrapv1.KubeadmConfigV1Beta1DeprecatedStatus{
		Conditions: conditions.StampV1Beta1(v1beta1(observed), s.deprecated(want, acted), s.now),
	}}
	return status
}

// own are the two conditions about the data and what it is made of.
func (s *scene) own(acted error, made bool) []metav1.Condition {
	var want []metav1.Condition
	reason, message, _ := problem(acted)
	was := conditions.Find(s.config.Status.Conditions, dataAvailable)
	switch {
	case made:
		want = append(want, conditions.True(dataAvailable, clusterv1.AvailableReason, ""))
	case reason == "" && was != nil:
		want = append(want, *was)
	default:
		want = append(want, conditions.False(dataAvailable, clusterv1.NotAvailableReason, cmp.Or(message, "The bootstrap data is being made")))
	}
	was = conditions.Find(s.config.Status.Conditions, certificatesAvailable)
	switch {
	case made || s.authorities.ok:
		want = append(want, conditions.True(certificatesAvailable, clusterv1.AvailableReason, ""))
	case s.authorities.broken:
		want = append(want, conditions.False(certificatesAvailable, clusterv1.InternalErrorReason, s.authorities.message))
	case was != nil:
		want = append(want, *was)
	}
	return want
}

// problem returns why there is no data, as far as users should know, and whether somebody has to do something about it.
// Both are empty for what is quiet.
func problem(err error) (reason, message string, stalled bool) {
	if err == nil || outcome.IsQuiet(err) {
		return "", "", false
	}
	if stall, ok := outcome.AsStall(err); ok {
		return stall.Reason, stall.Message, true
	}
	if wait, ok := outcome.AsWait(err); ok {
		return wait.Reason, wait.Message, false
	}
	return bootstrapv1.DataSecretGenerationFailedReason, "The bootstrap data could not be made; it is tried again: " + err.Error(), true
}

// deprecated are the conditions in the older form.
func (s *scene) deprecated(want []metav1.Condition, acted error) clusterv1.Conditions {
	var list clusterv1.Conditions
	for _, c := range want {
		switch {
		case c.Type == clusterv1.PausedCondition:
			continue
		case c.Status == metav1.ConditionTrue:
			list = append(list, conditions.V1Beta1True(clusterv1.ConditionType(c.Type)))
		case c.Type == certificatesAvailable:
			list = append(list, conditions.V1Beta1False(certificatesAvailable, bootstrapv1.CertificatesCorruptedReason, clusterv1.ConditionSeverityError, c.Message))
		default:
			list = append(list, s.deprecatedData(c.Message, acted))
		}
	}
	return append(list, conditions.V1Beta1Ready(list))
}

func (s *scene) deprecatedData(message string, acted error) clusterv1.Condition {
	reason, _, stalled := problem(acted)
	was := conditions.FindV1Beta1(v1beta1(&s.config.Status), bootstrapv1.DataSecretAvailableV1Beta1Condition)
	switch {
	case reason == "" && was != nil:
		return *was
	case reason == "":
		reason = plan.WaitingForInfrastructure
	case stalled:
		return conditions.V1Beta1False(bootstrapv1.DataSecretAvailableV1Beta1Condition, bootstrapv1.DataSecretGenerationFailedReason, clusterv1.ConditionSeverityWarning, message)
	}
	return conditions.V1Beta1False(bootstrapv1.DataSecretAvailableV1Beta1Condition, reason, clusterv1.ConditionSeverityInfo, message)
}
