package kubeadmcontrolplane

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/plan"
)

// deprecated is what v1beta1 clients read of the status.
func (s *scene) deprecated(counts plan.Counts, want []metav1.Condition) *controlplanev1.KubeadmControlPlaneV1Beta1DeprecatedStatus {
	conds := clusterv1.Conditions{s.oldAvailable(), s.oldUpToDate(), s.oldResized(), s.oldCreated()}
	for _, m := range []struct {
		old clusterv1.ConditionType
		of  string
	}{
		{controlplanev1.MachinesReadyV1Beta1Condition, clusterv1.MachinesReadyCondition},
		{controlplanev1.CertificatesAvailableV1Beta1Condition, controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition},
		{controlplanev1.ControlPlaneComponentsHealthyV1Beta1Condition, componentsCondition},
		{controlplanev1.EtcdClusterHealthyV1Beta1Condition, etcdCondition},
	} {
		if c := conditions.Find(want, m.of); c != nil {
			conds = append(conds, conditions.V1Beta1From(m.old, *c, clusterv1.ConditionSeverityWarning))
		}
	}
	conds = append(conds, conditions.V1Beta1Ready(conds))
	return &controlplanev1.KubeadmControlPlaneV1Beta1DeprecatedStatus{
		Conditions:          conditions.StampV1Beta1(v1beta1(&s.kcp.Status).Conditions, conds, s.now),
		UpdatedReplicas:     counts.Deprecated.Updated,
		ReadyReplicas:       counts.Deprecated.Ready,
		UnavailableReplicas: counts.Deprecated.NotReady,
	}
}

// oldAvailable has always meant that the control plane has come up once.
func (s *scene) oldAvailable() clusterv1.Condition {
	if s.inside.initialized || isTrue(s.kcp.Status.Initialization.ControlPlaneInitialized) {
		return conditions.V1Beta1True(controlplanev1.AvailableV1Beta1Condition)
	}
	return conditions.V1Beta1False(controlplanev1.AvailableV1Beta1Condition, controlplanev1.WaitingForKubeadmInitReason, clusterv1.ConditionSeverityInfo, "")
}

func (s *scene) oldUpToDate() clusterv1.Condition {
	const t = controlplanev1.MachinesSpecUpToDateV1Beta1Condition
	count := 0
	for _, m := range s.machines {
		if len(m.outdated) > 0 {
			count++
		}
	}
	if count == 0 {
		return conditions.V1Beta1True(t)
	}
	return conditions.V1Beta1False(t, controlplanev1.RollingUpdateInProgressReason, clusterv1.ConditionSeverityWarning,
		fmt.Sprintf("Rolling %d replicas with outdated spec (%d replicas up to date)", count, len(s.machines)-count))
}

func (s *scene) oldResized() clusterv1.Condition {
	const t = controlplanev1.ResizedV1Beta1Condition
	want, have := int(replicasOf(s.kcp)), len(s.machines)
	if s.deleting {
		want = 0
	}
	switch {
	case have < want:
		return conditions.V1Beta1False(t, clusterv1.ScalingUpReason, clusterv1.ConditionSeverityWarning, fmt.Sprintf("Scaling up control plane to %d replicas (actual %d)", want, have))
	case have > want:
		return conditions.V1Beta1False(t, clusterv1.ScalingDownReason, clusterv1.ConditionSeverityWarning, fmt.Sprintf("Scaling down control plane to %d replicas (actual %d)", want, have))
	}
	return conditions.V1Beta1True(t)
}

func (s *scene) oldCreated() clusterv1.Condition {
	const t = controlplanev1.MachinesCreatedV1Beta1Condition
	switch {
	case s.refused != nil:
		return conditions.V1Beta1False(t, controlplanev1.MachineGenerationFailedReason, clusterv1.ConditionSeverityError, s.refused.Error())
	case s.template.Obstacle() != "" && len(s.machines) < int(replicasOf(s.kcp)) && !s.deleting:
		return conditions.V1Beta1False(t, controlplanev1.InfrastructureTemplateCloningFailedReason, clusterv1.ConditionSeverityError, strings.TrimSpace(s.template.Obstacle()))
	}
	return conditions.V1Beta1True(t)
}
