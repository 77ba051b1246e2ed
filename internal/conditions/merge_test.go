package conditions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/conditions"
)

func machineReady() conditions.Summary {
	return conditions.Summary{
		Type:           "Ready",
		For:            []string{"Deleting", "BootstrapConfigReady", "InfrastructureReady", "HealthCheckSucceeded"},
		IgnoreIfAbsent: []string{"HealthCheckSucceeded"},
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	good := func() []metav1.Condition {
		return []metav1.Condition{
			conditions.False("Deleting", "NotDeleting", ""),
			conditions.True("BootstrapConfigReady", "Ready", ""),
			conditions.True("InfrastructureReady", "Ready", ""),
		}
	}
	with := func(c metav1.Condition) []metav1.Condition {
		conds := conditions.Without(good(), c.Type)
		return append(conds, c)
	}
	for _, row := range []struct {
		name    string
		conds   []metav1.Condition
		change  func(*conditions.Summary)
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		{name: "all good says nothing", conds: good(), status: "True", reason: "Ready"},
		{name: "good with something to tell", conds: with(conditions.True("InfrastructureReady", "Ready", "3 disks")),
			status: "True", reason: "Ready", message: "* InfrastructureReady: 3 disks"},
		{name: "info is not told beside an issue",
			conds:  append(with(conditions.True("InfrastructureReady", "Ready", "3 disks")), conditions.False("HealthCheckSucceeded", "UnhealthyNode", "")),
			status: "False", reason: "NotReady", message: "* HealthCheckSucceeded: UnhealthyNode"},
		{name: "a negative condition that is True is an issue", conds: with(conditions.True("Deleting", "Deleting", "Draining")),
			status: "False", reason: "NotReady", message: "* Deleting: Draining"},
		{name: "an absent condition is not known", conds: conditions.Without(good(), "BootstrapConfigReady"),
			status: "Unknown", reason: "ReadyUnknown", message: "* BootstrapConfigReady: Condition BootstrapConfigReady not yet reported"},
		{name: "an issue beats what is not known, and both are told",
			conds:  conditions.Without(with(conditions.False("InfrastructureReady", "NotReady", "no quota")), "BootstrapConfigReady"),
			status: "False", reason: "NotReady",
			message: "* BootstrapConfigReady: Condition BootstrapConfigReady not yet reported\n* InfrastructureReady: no quota"},
		{name: "a message of several lines goes below", conds: with(conditions.False("InfrastructureReady", "NotReady", "* a: b\n* c: d")),
			status: "False", reason: "NotReady", message: "* InfrastructureReady:\n  * a: b\n  * c: d"},
		{name: "an override stands in", conds: with(conditions.True("Deleting", "Deleting", "long story")),
			change: func(s *conditions.Summary) {
				s.Overrides = []metav1.Condition{conditions.True("Deleting", "Deleting", "Machine deletion in progress")}
			},
			status: "False", reason: "NotReady", message: "* Deleting: Machine deletion in progress"},
		{name: "a priority of the caller's", conds: with(conditions.False("InfrastructureReady", "ObjectDeleted", "gone")),
			change: func(s *conditions.Summary) {
				s.Priority = func(c metav1.Condition) (conditions.Priority, bool) {
					return conditions.Info, c.Reason == "ObjectDeleted"
				}
			},
			status: "True", reason: "Ready", message: "* InfrastructureReady: gone"},
		{name: "a gate of negative polarity", conds: append(good(), conditions.True("example.com/Broken", "Broken", "it is")),
			change: func(s *conditions.Summary) {
				s.For = append(s.For, "example.com/Broken")
				s.Polarity = map[string]conditions.Polarity{"example.com/Broken": conditions.Negative}
			},
			status: "False", reason: "NotReady", message: "* example.com/Broken: it is"},
		{name: "reasons of the caller's", conds: with(conditions.False("InfrastructureReady", "NotReady", "x")),
			change: func(s *conditions.Summary) { s.Reasons = conditions.Reasons{Issue: "Trouble"} },
			status: "False", reason: "Trouble", message: "* InfrastructureReady: x"},
		{name: "conditions that say the same are told once",
			conds: append(good(), conditions.Unknown("APIServerPodHealthy", "X", "no Node"), conditions.Unknown("EtcdPodHealthy", "X", "no Node")),
			change: func(s *conditions.Summary) {
				s.For = append(s.For, "APIServerPodHealthy", "EtcdPodHealthy")
				s.Collapse = []conditions.Collapse{{Label: "Control plane components", Types: []string{"APIServerPodHealthy", "EtcdPodHealthy"}}}
			},
			status: "Unknown", reason: "ReadyUnknown", message: "* Control plane components: no Node"},
		{name: "conditions that differ are told apart",
			conds: append(good(), conditions.Unknown("APIServerPodHealthy", "X", "no Node"), conditions.False("EtcdPodHealthy", "X", "crashed")),
			change: func(s *conditions.Summary) {
				s.For = append(s.For, "APIServerPodHealthy", "EtcdPodHealthy")
				s.Collapse = []conditions.Collapse{{Label: "Control plane components", Types: []string{"APIServerPodHealthy", "EtcdPodHealthy"}}}
			},
			status: "False", reason: "NotReady", message: "* APIServerPodHealthy: no Node\n* EtcdPodHealthy: crashed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := machineReady()
			if row.change != nil {
				row.change(&s)
			}
			want := metav1.Condition{Type: "Ready", Status: row.status, Reason: row.reason, Message: row.message}
			if diff := cmp.Diff(want, s.Of(row.conds)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func member(name string, c metav1.Condition) conditions.Member {
	return conditions.Member{Kind: "Machine", Name: name, ControlPlane: strings.HasPrefix(name, "cp"), Conditions: []metav1.Condition{c}}
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	bad := func(message string) metav1.Condition { return conditions.False("Ready", "NotReady", message) }
	machinesReady := conditions.Aggregate{Type: "MachinesReady", Of: "Ready", Reasons: conditions.Reasons{Info: "Ready", Issue: "NotReady", Unknown: "ReadyUnknown"}}
	for _, row := range []struct {
		name      string
		aggregate conditions.Aggregate
		members   []conditions.Member
		status    metav1.ConditionStatus
		reason    string
		message   string
	}{
		{name: "all good", aggregate: machinesReady, status: "True", reason: "Ready",
			members: []conditions.Member{member("a", conditions.True("Ready", "", "")), member("b", conditions.True("Ready", "", ""))}},
		{name: "one object", aggregate: machinesReady, status: "False", reason: "NotReady", message: "* Machine a: no quota",
			members: []conditions.Member{member("b", conditions.True("Ready", "", "")), member("a", bad("no quota"))}},
		{name: "objects that say the same share a line", aggregate: machinesReady, status: "False", reason: "NotReady",
			message: "* Machines cp-1, a, b, ... (1 more): no quota",
			members: []conditions.Member{member("b", bad("no quota")), member("cp-1", bad("no quota")), member("a", bad("no quota")), member("c", bad("no quota"))}},
		{name: "a list goes below its machine", aggregate: machinesReady, status: "False", reason: "NotReady",
			message: "* Machine a:\n  * NodeHealthy: gone",
			members: []conditions.Member{member("a", bad("* NodeHealthy: gone"))}},
		{name: "control plane machines come first, then what most say", aggregate: machinesReady, status: "False", reason: "NotReady",
			message: "* Machine cp-1: z\n* Machines b, c: y\n* Machine a: x",
			members: []conditions.Member{member("a", bad("x")), member("b", bad("y")), member("c", bad("y")), member("cp-1", bad("z"))}},
		{name: "what the limit leaves out is counted by urgency", aggregate: machinesReady, status: "False", reason: "NotReady",
			message: "* Machine a: 1\n* Machine b: 2\n* Machine c: 3\nAnd 2 Machines with other issues\nAnd 1 Machine with status unknown",
			members: []conditions.Member{member("a", bad("1")), member("b", bad("2")), member("c", bad("3")), member("d", bad("4")), member("e", bad("5")),
				{Kind: "Machine", Name: "f"}}},
		{name: "an absent condition is not known", aggregate: machinesReady, status: "Unknown", reason: "ReadyUnknown",
			message: "* Machine a: Condition Ready not yet reported", members: []conditions.Member{{Kind: "Machine", Name: "a"}}},
		{name: "an absent condition may not count", aggregate: conditions.Aggregate{Type: "Remediating", Of: "OwnerRemediated", IgnoreIfAbsent: true},
			status: "False", reason: "NotRemediating", members: []conditions.Member{{Kind: "Machine", Name: "a"}}},
		{name: "a negative condition is bad when True", aggregate: conditions.Aggregate{Type: "ScalingUp", Of: "ScalingUp"},
			status: "True", reason: "ScalingUp", message: "* MachineDeployment a: from 1 to 3",
			members: []conditions.Member{
				{Kind: "MachineDeployment", Name: "a", Conditions: []metav1.Condition{conditions.True("ScalingUp", "", "from 1 to 3")}},
				{Kind: "MachineDeployment", Name: "b", Conditions: []metav1.Condition{conditions.False("ScalingUp", "", "")}},
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			want := metav1.Condition{Type: row.aggregate.Type, Status: row.status, Reason: row.reason, Message: row.message}
			if diff := cmp.Diff(want, row.aggregate.Over(row.members)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func anyMembers() *rapid.Generator[[]conditions.Member] {
	return rapid.Custom(func(t *rapid.T) []conditions.Member {
		var out []conditions.Member
		for i := range rapid.IntRange(0, 12).Draw(t, "count") {
			out = append(out, conditions.Member{
				Kind:         "Machine",
				Name:         fmt.Sprintf("m%02d", i),
				ControlPlane: rapid.Bool().Draw(t, "controlPlane"),
				Conditions:   anyConditions("Ready").Draw(t, "conditions"),
			})
		}
		return out
	})
}

func TestAggregate_DoesNotDependOnTheOrderOfItsMembers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := anyMembers().Draw(t, "members")
		shuffled := rapid.Permutation(slices.Clone(members)).Draw(t, "shuffled")
		a := conditions.Aggregate{Type: "MachinesReady", Of: "Ready"}
		if diff := cmp.Diff(a.Over(members), a.Over(shuffled)); diff != "" {
			t.Fatalf("the order shows:\n%s", diff)
		}
	})
}

func TestAggregate_IsAsBadAsItsWorstMemberAndStaysShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := anyMembers().Draw(t, "members")
		worst := conditions.Info
		for _, m := range members {
			if c := conditions.Find(m.Conditions, "Ready"); c != nil {
				worst = min(worst, conditions.PriorityOf(*c, conditions.Positive))
			} else {
				worst = min(worst, conditions.NotKnown)
			}
		}
		got := conditions.Aggregate{Type: "MachinesReady", Of: "Ready"}.Over(members)
		if p := conditions.PriorityOf(got, conditions.Positive); p != worst {
			t.Fatalf("priority is %d, the worst member's is %d", p, worst)
		}
		top, rest := 0, 0
		for line := range strings.SplitSeq(got.Message, "\n") {
			if strings.HasPrefix(line, "* ") {
				top++
			}
			if strings.HasPrefix(line, "And ") {
				rest++
			}
		}
		if top > 3 || rest > 3 {
			t.Fatalf("too long:\n%s", got.Message)
		}
	})
}

func TestSummary_IsAsBadAsItsWorstCondition(t *testing.T) {
	t.Parallel()
	s := machineReady()
	rapid.Check(t, func(t *rapid.T) {
		conds := anyConditions(s.For...).Draw(t, "conditions")
		worst := conditions.Info
		for _, name := range s.For {
			c := conditions.Find(conds, name)
			switch {
			case c != nil:
				worst = min(worst, conditions.PriorityOf(*c, conditions.PolarityOf(name)))
			case name != "HealthCheckSucceeded":
				worst = min(worst, conditions.NotKnown)
			}
		}
		got := s.Of(conds)
		if p := conditions.PriorityOf(got, conditions.Positive); p != worst {
			t.Fatalf("priority is %d, the worst condition's is %d", p, worst)
		}
		if worst != conditions.Info && got.Message == "" {
			t.Fatal("trouble without a message")
		}
	})
}

func TestMirror(t *testing.T) {
	t.Parallel()
	ready := func(status, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: metav1.ConditionStatus(status), Reason: reason, Message: "m", LastTransitionTime: metav1.NewTime(before)}}
	}
	mirrored := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: "InfrastructureReady", Status: status, Reason: reason, Message: "m", LastTransitionTime: metav1.NewTime(before)}
	}
	for _, row := range []struct {
		name     string
		conds    []metav1.Condition
		fallback *metav1.Condition
		want     metav1.Condition
	}{
		{name: "copied", conds: ready("False", "NoQuota"), want: mirrored("False", "NoQuota")},
		{name: "True without a reason", conds: ready("True", conditions.NoReasonReported), want: mirrored("True", "Ready")},
		{name: "False without a reason", conds: ready("False", ""), want: mirrored("False", conditions.NoReasonReported)},
		{name: "a reason that the wire refuses", conds: ready("False", "9: Provider.Error (HTTP 503):"), want: mirrored("False", "Provider_Error__HTTP_503_")},
		{name: "a reason of no letters", conds: ready("False", "503"), want: mirrored("False", conditions.NoReasonReported)},
		{name: "a status that is none", conds: ready("Yes", "X"),
			want: conditions.Unknown("InfrastructureReady", "InvalidConditionReported", `Condition Ready has the status "Yes", which is none of True, False and Unknown`)},
		{name: "absent", want: conditions.Unknown("InfrastructureReady", "NotYetReported", "Condition Ready not yet reported")},
		{name: "absent, the flag is true", fallback: conditions.Fallback(true, "Ready", "FooCluster", "status.ready"),
			want: conditions.True("InfrastructureReady", "Ready", "")},
		{name: "absent, the flag is false", fallback: conditions.Fallback(false, "Ready", "FooCluster", "status.ready"),
			want: conditions.False("InfrastructureReady", "NotReady", "FooCluster status.ready is false")},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := conditions.Mirror{Type: "InfrastructureReady", Of: "Ready", Fallback: row.fallback}.From(row.conds)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestNames_AreSortedAndBounded(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		"":                      nil,
		"a":                     {"a"},
		"a, b, c":               {"c", "a", "b"},
		"a, b, c, ... (2 more)": {"e", "d", "c", "b", "a"},
	} {
		if got := conditions.Names(names); got != want {
			t.Errorf("Names(%v) is %q, want %q", names, got, want)
		}
	}
}
