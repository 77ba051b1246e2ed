package replicas_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/replicas"
)

var noon = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)

func machine(name string, age time.Duration, conds ...metav1.Condition) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-age))}}
	m.Status.Conditions = conds
	return m
}

func is(t, status string) metav1.Condition {
	return metav1.Condition{Type: t, Status: metav1.ConditionStatus(status), Reason: "R"}
}

func deletedFor(m *clusterv1.Machine, d time.Duration) *clusterv1.Machine {
	m.DeletionTimestamp = &metav1.Time{Time: noon.Add(-d)}
	return m
}

func TestMachinesUpToDate_PassesOverMachinesThatAreNew(t *testing.T) {
	t.Parallel()
	c, after := replicas.MachinesUpToDate([]*clusterv1.Machine{
		machine("old", time.Hour, is(clusterv1.MachineUpToDateCondition, "True")), machine("new", 4*time.Second),
	}, noon)
	if c.Status != metav1.ConditionTrue || after != 6*time.Second {
		t.Errorf("condition %+v, again after %s", c, after)
	}
	if c, after = replicas.MachinesUpToDate([]*clusterv1.Machine{machine("silent", 11*time.Second)}, noon); c.Status != metav1.ConditionUnknown || after != 0 {
		t.Errorf("condition %+v, again after %s", c, after)
	}
	if c, _ = replicas.MachinesUpToDate(nil, noon); c.Reason != clusterv1.NoReplicasReason {
		t.Errorf("condition %+v", c)
	}
}

func TestScale_TellsWhatIsWantedAndWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	two := []*clusterv1.Machine{machine("a", 0), deletedFor(machine("b", 0), time.Hour)}
	for _, row := range []struct {
		name             string
		scale            replicas.Scale
		up, down         metav1.ConditionStatus
		upText, downText string
	}{
		{name: "unset", scale: replicas.Scale{}, up: "Unknown", down: "Unknown", upText: "spec.replicas"},
		{name: "too few", scale: replicas.Scale{Desired: new(int32(5)), Machines: two, Obstacles: []string{"X is missing"}},
			up: "True", down: "False", upText: "from 2 to 5 replicas\n* X is missing"},
		{name: "enough, but no more could come", scale: replicas.Scale{Desired: new(int32(2)), Machines: two, Obstacles: []string{"X is missing"}},
			up: "False", down: "False", upText: "would be held\n* X is missing"},
		{name: "too many", scale: replicas.Scale{Desired: new(int32(1)), Machines: two}, up: "False", down: "True", downText: "Machine b has been in deletion"},
		{name: "going away", scale: replicas.Scale{Desired: new(int32(5)), Machines: two, Deleting: true}, up: "False", down: "True", downText: "from 2 to 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.scale.Now = noon
			up, down := row.scale.Up(), row.scale.Down()
			if up.Status != row.up || !strings.Contains(up.Message, row.upText) || down.Status != row.down || !strings.Contains(down.Message, row.downText) {
				t.Errorf("up %+v, down %+v", up, down)
			}
		})
	}
}

func TestTold_GivesBackWhatWasTold(t *testing.T) {
	t.Parallel()
	want := []string{"one line", "several:\n* of these\n  * and of those\nlines", ""}
	up := replicas.Scale{Desired: new(int32(1)), Obstacles: want}.Up()
	if diff := cmp.Diff(want, replicas.Told([]metav1.Condition{up})); diff != "" {
		t.Errorf("-want +told\n%s", diff)
	}
	if told := replicas.Told(nil); len(told) > 0 {
		t.Errorf("without a condition: %q", told)
	}
}

func TestStale_ComesWithTime(t *testing.T) {
	t.Parallel()
	if lines, after := replicas.Stale([]*clusterv1.Machine{deletedFor(machine("a", 0), 10*time.Minute)}, noon); len(lines) > 0 || after != 5*time.Minute {
		t.Errorf("lines %q, again after %s", lines, after)
	}
}

func TestCount_SkipsNobody(t *testing.T) {
	t.Parallel()
	a := machine("a", 0, is(clusterv1.ReadyCondition, "True"), is(clusterv1.AvailableCondition, "True"))
	b := deletedFor(machine("b", 0, is(clusterv1.ReadyCondition, "True")), 0)
	got := replicas.Count([]*clusterv1.Machine{a, b}, new(int32(3)), &clusterv1.MachineTemplateSpec{}, noon)
	if got.Replicas != 2 || got.Ready != 2 || got.Available != 1 || got.UpToDate != 0 {
		t.Errorf("counts %+v", got)
	}
}

func TestPaused_NamesAllCauses(t *testing.T) {
	t.Parallel()
	m := machine("m", 0)
	m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	cluster := &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{Paused: new(true)}}
	if c := replicas.Paused(cluster, m); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "spec.paused") || !strings.Contains(c.Message, clusterv1.PausedAnnotation) {
		t.Errorf("condition %+v", c)
	}
	if c := replicas.Paused(nil, machine("m", 0)); c.Status != metav1.ConditionFalse {
		t.Errorf("condition %+v", c)
	}
}

func TestMachineChanges_PassesWhatOwnersLookAt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		change func(*clusterv1.Machine)
		want   bool
	}{
		{"phase and addresses", func(m *clusterv1.Machine) {
			m.Status.Phase = "Running"
			m.Status.Addresses = clusterv1.MachineAddresses{{Address: "10.0.0.1"}}
		}, false},
		{"a condition nobody asks for", func(m *clusterv1.Machine) {
			m.Status.Conditions = append(m.Status.Conditions, is(clusterv1.InfrastructureReadyCondition, "True"))
		}, false},
		{"Ready comes", func(m *clusterv1.Machine) {
			m.Status.Conditions = append(m.Status.Conditions, is(clusterv1.ReadyCondition, "True"))
		}, true},
		{"Available flips", func(m *clusterv1.Machine) { m.Status.Conditions[0].Status = metav1.ConditionTrue }, true},
		{"its Node", func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "n" }, true},
		{"deletion", func(m *clusterv1.Machine) { deletedFor(m, 0) }, true},
		{"an annotation", func(m *clusterv1.Machine) { m.Annotations = map[string]string{"a": "b"} }, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			old := machine("m", 0, is(clusterv1.AvailableCondition, "False"))
			now := old.DeepCopy()
			row.change(now)
			if got := replicas.MachineChanges().Update(event.UpdateEvent{ObjectOld: old, ObjectNew: now}); got != row.want {
				t.Errorf("passes is %t", got)
			}
		})
	}
}
