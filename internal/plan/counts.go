package plan

import "time"

// CountedMachine is one Machine as far as the counters of its owner are concerned.
type CountedMachine struct {
	// Ready, Available and UpToDate are its conditions of these names; an absent one is Unknown.
	Ready, Available, UpToDate Tri
	// Version is the version to be counted in status.versions: what runs, where that is known.
	Version string
	// HasTemplateLabels says that it carries all labels of its owner's template (MachineSets only).
	HasTemplateLabels bool
	// NodeReady says that its Node is Ready, NodeReadySince since when; for the counters of the older API.
	NodeReady      bool
	NodeReadySince time.Time
}

// Counts are the counters of an owner of Machines.
type Counts struct {
	// Replicas counts all Machines, those being deleted included; the others count those whose condition is True.
	Replicas, Ready, Available, UpToDate int32
	// Versions counts the Machines by version, ascending.
	Versions []VersionCount
	// Deprecated are the counters of the older API.
	Deprecated DeprecatedCounts
}

// DeprecatedCounts are the counters under status.deprecated.v1beta1. Which of them an owner has differs by kind.
type DeprecatedCounts struct {
	// FullyLabeled counts Machines that carry all labels of the template (MachineSet).
	FullyLabeled int32
	// Ready counts Machines whose Node is Ready.
	Ready int32
	// Available counts Machines whose Node has been Ready for minReadySeconds.
	Available int32
	// Updated counts Machines that are up to date (MachineDeployment, KubeadmControlPlane).
	Updated int32
	// Unavailable is the number of replicas asked for, or there if that is more, that are not available
	// (MachineDeployment).
	Unavailable int32
	// NotReady is the number of Machines that are not Ready (the unavailableReplicas of a KubeadmControlPlane).
	NotReady int32
}

// CountMachines counts the Machines of an owner that asks for that many replicas and that many seconds of readiness.
func CountMachines(machines []CountedMachine, desired, minReadySeconds int32, now time.Time) Counts {
	c := Counts{Replicas: int32(len(machines))}
	versions := make([]string, 0, len(machines))
	for _, m := range machines {
		c.Ready += one(m.Ready == True)
		c.Available += one(m.Available == True)
		c.UpToDate += one(m.UpToDate == True)
		c.Deprecated.FullyLabeled += one(m.HasTemplateLabels)
		c.Deprecated.Ready += one(m.NodeReady)
		available, _ := AvailableAfter(m.NodeReady, m.NodeReadySince, minReadySeconds, now)
		c.Deprecated.Available += one(available)
		versions = append(versions, m.Version)
	}
	c.Versions = AggregateVersions(versions)
	c.Deprecated.Updated = c.UpToDate
	c.Deprecated.Unavailable = max(0, max(c.Replicas, desired)-c.Deprecated.Available)
	c.Deprecated.NotReady = c.Replicas - c.Deprecated.Ready
	return c
}

// AvailableAfter reports whether something that has been ready since then is available, which takes minReadySeconds of
// readiness, and if not for how long it still has to stay ready; 0 when it is not ready.
func AvailableAfter(ready bool, since time.Time, minReadySeconds int32, now time.Time) (bool, time.Duration) {
	if !ready {
		return false, 0
	}
	wait := since.Add(time.Duration(minReadySeconds) * time.Second).Sub(now)
	if minReadySeconds <= 0 || wait <= 0 {
		return true, 0
	}
	return false, wait
}

func one(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
