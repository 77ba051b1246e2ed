package machine

import (
	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	coreac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/conditions"
)

// statusConfiguration is the whole of what this controller owns in the status: what an apply leaves out is taken away.
func statusConfiguration(m *clusterv1.Machine, s *clusterv1.MachineStatus) *coreac.MachineApplyConfiguration {
	out := coreac.MachineStatus().WithConditions(conditions.ApplyConfigurations(s.Conditions)...)
	if s.Initialization != (clusterv1.MachineInitializationStatus{}) {
		out.Initialization = &coreac.MachineInitializationStatusApplyConfiguration{
			InfrastructureProvisioned: s.Initialization.InfrastructureProvisioned, BootstrapDataSecretCreated: s.Initialization.BootstrapDataSecretCreated,
		}
	}
	withNode(out, s)
	if !s.LastUpdated.IsZero() {
		out.WithLastUpdated(s.LastUpdated)
	}
	if len(s.Addresses) > 0 {
		out.WithAddresses(s.Addresses)
	}
	if s.FailureDomain != "" {
		out.WithFailureDomain(s.FailureDomain)
	}
	if s.Phase != "" {
		out.WithPhase(s.Phase)
	}
	if !s.CertificatesExpiryDate.IsZero() {
		out.WithCertificatesExpiryDate(s.CertificatesExpiryDate)
	}
	if s.ObservedGeneration > 0 {
		out.WithObservedGeneration(s.ObservedGeneration)
	}
	if s.Deletion != nil {
		out.WithDeletion(deletionConfiguration(s.Deletion))
	}
	if s.Slipway != nil {
		out.WithSlipway(coreac.MachineSlipwayStatus().WithVersions(versionsConfiguration(s.Slipway.Versions)))
	}
	if v := v1beta1(s); v != nil {
		old := &coreac.MachineV1Beta1DeprecatedStatusApplyConfiguration{FailureReason: v.FailureReason, FailureMessage: v.FailureMessage}
		out.WithDeprecated(coreac.MachineDeprecatedStatus().WithV1Beta1(old.WithConditions(v.Conditions)))
	}
	return coreac.Machine(m.Name, m.Namespace).WithUID(m.UID).WithStatus(out)
}

func withNode(out *coreac.MachineStatusApplyConfiguration, s *clusterv1.MachineStatus) {
	if s.NodeRef.IsDefined() {
		out.WithNodeRef(coreac.MachineNodeReference().WithName(s.NodeRef.Name))
	}
	if s.NodeInfo != nil {
		out.WithNodeInfo(*s.NodeInfo)
	}
}

func deletionConfiguration(d *clusterv1.MachineDeletionStatus) *coreac.MachineDeletionStatusApplyConfiguration {
	out := coreac.MachineDeletionStatus()
	if !d.NodeDrainStartTime.IsZero() {
		out.WithNodeDrainStartTime(d.NodeDrainStartTime)
	}
	if !d.WaitForNodeVolumeDetachStartTime.IsZero() {
		out.WithWaitForNodeVolumeDetachStartTime(d.WaitForNodeVolumeDetachStartTime)
	}
	if !d.WaitForPreDrainHookStartTime.IsZero() {
		out.WithWaitForPreDrainHookStartTime(d.WaitForPreDrainHookStartTime)
	}
	if !d.WaitForPreTerminateHookStartTime.IsZero() {
		out.WithWaitForPreTerminateHookStartTime(d.WaitForPreTerminateHookStartTime)
	}
	return out
}

func versionsConfiguration(v clusterv1.MachineVersions) *coreac.MachineVersionsApplyConfiguration {
	out := coreac.MachineVersions()
	for _, c := range []struct {
		version string
		set     func(string) *coreac.MachineVersionsApplyConfiguration
	}{
		{v.Kubelet, out.WithKubelet}, {v.ContainerRuntime, out.WithContainerRuntime}, {v.APIServer, out.WithAPIServer},
		{v.ControllerManager, out.WithControllerManager}, {v.Scheduler, out.WithScheduler}, {v.Etcd, out.WithEtcd},
		{v.BootstrapTool, out.WithBootstrapTool},
	} {
		if c.version != "" {
			c.set(c.version)
		}
	}
	return out
}

// v1beta1 is the deprecated part of a status, or nil.
func v1beta1(s *clusterv1.MachineStatus) *clusterv1.MachineV1Beta1DeprecatedStatus {
	if s.Deprecated == nil {
		return nil
	}
	return s.Deprecated.V1Beta1
}

func v1beta1Conditions(s *clusterv1.MachineStatus) clusterv1.Conditions {
	if v := v1beta1(s); v != nil {
		return v.Conditions
	}
	return nil
}
