package plan

import (
	"fmt"
	"slices"
	"time"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// ControlPlaneSpecFacts compares a control-plane Machine with the spec of its KubeadmControlPlane.
type ControlPlaneSpecFacts struct {
	// Version and MachineVersion are spec.version of the control plane and of the Machine.
	Version, MachineVersion string
	// ConfigDiffers names what differs between the kubeadm configuration asked for and the Machine's, after both were
	// defaulted alike and what the owner leaves unset was left out; empty when nothing does.
	ConfigDiffers []string
	// Infrastructure and MachineInfrastructure name the infrastructure template asked for and the one the Machine was
	// cloned from; the latter is empty when that is not recorded, and then does not count.
	Infrastructure, MachineInfrastructure string
	// RolloutAfter is spec.rollout.after; zero when unset. Created is when the Machine was created.
	RolloutAfter, Created time.Time
	// CertificatesExpire is when the Machine's certificates expire; zero when not known. ExpiryDays is
	// spec.rollout.before.certificatesExpiryDays; 0 when unset.
	CertificatesExpire time.Time
	ExpiryDays         int32
}

// ControlPlaneOutdated returns the reasons for which a control-plane Machine has to be replaced; none when it is up to
// date.
func ControlPlaneOutdated(f ControlPlaneSpecFacts, now time.Time) []string {
	var reasons []string
	if f.Version != "" && NormalizeVersion(f.Version) != NormalizeVersion(f.MachineVersion) {
		reasons = append(reasons, fmt.Sprintf("Version %s, %s required", f.MachineVersion, f.Version))
	}
	for _, what := range f.ConfigDiffers {
		reasons = append(reasons, "KubeadmConfig is not up-to-date: "+what)
	}
	if f.MachineInfrastructure != "" && f.Infrastructure != f.MachineInfrastructure {
		reasons = append(reasons, fmt.Sprintf("Infrastructure from %s, %s required", f.MachineInfrastructure, f.Infrastructure))
	}
	if !satisfiesRolloutAfter(f.Created, f.RolloutAfter, now) {
		reasons = append(reasons, "Created before spec.rollout.after")
	}
	if certificatesAge(f, now) {
		reasons = append(reasons, fmt.Sprintf("Certificates expire in less than %s", counted(f.ExpiryDays, "day")))
	}
	return reasons
}

func certificatesAge(f ControlPlaneSpecFacts, now time.Time) bool {
	if f.ExpiryDays <= 0 || f.CertificatesExpire.IsZero() {
		return false
	}
	return f.CertificatesExpire.Before(now.Add(time.Duration(f.ExpiryDays) * 24 * time.Hour))
}

// WorkerSpecFacts compares a Machine with the MachineDeployment that it belongs to.
type WorkerSpecFacts struct {
	// SetCurrent says whether the template of its MachineSet equals the deployment's in every field that needs a new
	// Machine; SetDiffers names what differs.
	SetCurrent Tri
	SetDiffers []string
	// RolloutAfter is spec.rollout.after of the deployment; SetCreated is when the MachineSet was created.
	RolloutAfter, SetCreated time.Time
	// Updating says that the Machine is being updated in place.
	Updating bool
	// Version is spec.version of the Machine and KubeletVersion what its Node reports; either may be empty.
	Version, KubeletVersion string
}

// UpToDateResult is the content of a worker's UpToDate condition.
type UpToDateResult struct {
	// Status is the condition's status.
	Status Tri
	// Reason is "UpToDate", "NotUpToDate" or "Updating".
	Reason string
	// Messages say what is not up to date.
	Messages []string
}

// WorkerUpToDate decides whether a Machine of a MachineDeployment is up to date.
func WorkerUpToDate(f WorkerSpecFacts, now time.Time) UpToDateResult {
	messages := f.SetDiffers
	if !satisfiesRolloutAfter(f.SetCreated, f.RolloutAfter, now) {
		messages = append(slices.Clip(messages), "MachineSet created before spec.rollout.after")
	}
	switch {
	case f.SetCurrent == Unknown:
		return UpToDateResult{Status: Unknown, Reason: clusterv1.UpToDateUnknownReason, Messages: []string{"The MachineSet or the MachineDeployment could not be read"}}
	case f.SetCurrent == False || len(messages) > 0:
		return UpToDateResult{Status: False, Reason: clusterv1.MachineNotUpToDateReason, Messages: messages}
	case f.Updating:
		return UpToDateResult{Status: False, Reason: clusterv1.MachineUpToDateUpdatingReason, Messages: []string{"The Machine is being updated in place"}}
	case f.Version != "" && f.KubeletVersion != "" && !SameVersion(f.Version, f.KubeletVersion):
		return UpToDateResult{Status: False, Reason: clusterv1.MachineUpToDateUpdatingReason, Messages: []string{fmt.Sprintf("Kubelet runs %s, %s required", f.KubeletVersion, f.Version)}}
	}
	return UpToDateResult{Status: True, Reason: clusterv1.MachineUpToDateReason}
}
