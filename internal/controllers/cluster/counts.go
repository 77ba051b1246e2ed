package cluster

import (
	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/replicas"
)

// controlPlaneStatus counts the control plane: as its object does, or its Machines where there is none. While the object
// cannot be read, what was known stays.
func (w *world) controlPlaneStatus() *clusterv1.ClusterControlPlaneStatus {
	switch {
	case !w.controlPlane.ref.IsDefined():
		machines := w.controlPlaneMachines()
		c := replicas.Count(machines, nil, &clusterv1.MachineTemplateSpec{}, w.now)
		return &clusterv1.ClusterControlPlaneStatus{
			DesiredReplicas: new(c.Replicas), Replicas: new(c.Replicas), ReadyReplicas: new(c.Ready),
			AvailableReplicas: new(c.Available), UpToDateReplicas: new(c.UpToDate), Versions: replicas.Versions(c.Versions),
		}
	case w.controlPlane.err != nil:
		return w.cluster.Status.ControlPlane.DeepCopy()
	case w.controlPlane.object == nil:
		return nil
	}
	v := w.controlPlaneView
	if v.DesiredReplicas == nil && v.Replicas == nil {
		return nil
	}
	return &clusterv1.ClusterControlPlaneStatus{
		DesiredReplicas: v.DesiredReplicas, Replicas: v.Replicas, ReadyReplicas: v.ReadyReplicas,
		AvailableReplicas: v.AvailableReplicas, UpToDateReplicas: v.UpToDateReplicas, Versions: v.Versions,
	}
}

// tally sums up counters of several owners of Machines.
type tally struct {
	desired, replicas, ready, available, upToDate int32
	versions                                      [][]plan.VersionCount
}

func (t *tally) add(desired, replicas, ready, available, upToDate *int32, versions []clusterv1.StatusVersion) {
	t.desired += valueOf(desired)
	t.replicas += valueOf(replicas)
	t.ready += valueOf(ready)
	t.available += valueOf(available)
	t.upToDate += valueOf(upToDate)
	counts := make([]plan.VersionCount, 0, len(versions))
	for _, v := range versions {
		counts = append(counts, plan.VersionCount{Version: v.Version, Replicas: valueOf(v.Replicas)})
	}
	t.versions = append(t.versions, counts)
}

func valueOf(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// workersStatus counts the workers, each by whoever speaks for it.
func (w *world) workersStatus() *clusterv1.WorkersStatus {
	var t tally
	for _, o := range w.pools {
		s := o.Status
		t.add(o.Spec.Replicas, s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpToDateReplicas, s.Versions)
	}
	for _, o := range w.deployments {
		s := o.Status
		t.add(o.Spec.Replicas, s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpToDateReplicas, s.Versions)
	}
	for _, o := range w.standaloneSets() {
		s := o.Status
		t.add(o.Spec.Replicas, s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpToDateReplicas, s.Versions)
	}
	single := filter(w.workerMachines(), func(m *clusterv1.Machine) bool { return standalone(m) })
	c := replicas.Count(single, nil, &clusterv1.MachineTemplateSpec{}, w.now)
	t.versions = append(t.versions, c.Versions)
	return &clusterv1.WorkersStatus{
		DesiredReplicas: new(t.desired + c.Replicas), Replicas: new(t.replicas + c.Replicas), ReadyReplicas: new(t.ready + c.Ready),
		AvailableReplicas: new(t.available + c.Available), UpToDateReplicas: new(t.upToDate + c.UpToDate),
		Versions: replicas.Versions(plan.MergeVersions(t.versions...)),
	}
}

func (w *world) standaloneSets() []*clusterv1.MachineSet {
	return filter(w.sets, func(s *clusterv1.MachineSet) bool { return standalone(s) })
}
