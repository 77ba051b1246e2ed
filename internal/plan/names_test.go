package plan

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMachineName_FollowsTheTemplate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 80)
	for _, tt := range []struct {
		f    NameFacts
		want string
	}{
		{NameFacts{Owner: MachineSetOwner, OwnerName: "md-1"}, "md-1-bcdfg"},
		{NameFacts{Owner: KubeadmControlPlaneOwner, OwnerName: "cp"}, "cp-bcdfg"},
		{NameFacts{Owner: MachineSetOwner, OwnerName: "md", Cluster: "c", Template: "{{ .cluster.name }}-{{ .machineSet.name }}-{{ .random }}"}, "c-md-bcdfg"},
		{NameFacts{Owner: MachineSetOwner, OwnerName: long}, strings.Repeat("x", 58) + "bcdfg"},
	} {
		tt.f.Random = "bcdfg"
		if got, err := MachineName(tt.f); err != nil || got != tt.want {
			t.Errorf("%+v: %q, %v; want %q", tt.f, got, err, tt.want)
		}
	}
	if got := SetName(strings.Repeat("d", 63), "bcdfg"); got != strings.Repeat("d", 58)+"bcdfg" {
		t.Errorf("SetName is %q", got)
	}
}

func TestCheckNameTemplate_SaysHowToMend(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"{{ .machineSet.name }}-{{ .random }}": "",
		"":                                     "",
		"{{ .machineSet.name }}":               "add {{ .random }}",
		"{{ .kubeadmControlPlane.name }}-{{ .random }}":            "the variables are .cluster.name, .machineSet.name",
		"{{ .machineSet.name }-{{ .random }}":                      "name template",
		"UPPER-{{ .random }}":                                      "lower case",
		"{{ .random }}-":                                           "begin and end",
		strings.Repeat("y", 70) + "{{ .random }}":                  "",
		"{{ .machineSet.name }}.{{ .cluster.name }}.{{ .random }}": "",
		"{{ .machineSet.name }}-{{.random}}":                       "write it exactly so",
		"{{ .machineSet.name }}-{{ slice .random 0 1 }}":           "write it exactly so",
	} {
		err := CheckNameTemplate(text, MachineSetOwner)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

func TestLabelValue_IsAlwaysValidAndStable(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z0-9.-]{0,100}`).Draw(t, "name")
		got := LabelValue(text)
		if len(got) > 63 || !valid.MatchString(got) || got != LabelValue(text) {
			t.Fatalf("LabelValue(%q) is %q", text, got)
		}
		if len(text) <= 63 && valid.MatchString(text) && got != text {
			t.Fatalf("LabelValue(%q) is %q, although it was valid", text, got)
		}
	})
	if a, b := LabelValue(strings.Repeat("a", 80)), LabelValue(strings.Repeat("a", 81)); a == b {
		t.Errorf("two names share the label %q", a)
	}
}

func TestRandomSuffix_UsesEveryDraw(t *testing.T) {
	t.Parallel()
	n := 0
	if got := RandomSuffix(func(limit int) int { n++; return n % limit }); len(got) != SuffixLength || n != SuffixLength || strings.ContainsAny(got, "aeiou") {
		t.Errorf("suffix %q after %d draws", got, n)
	}
}

func TestDefaultReplicas_KeepsTheAutoscalersChoice(t *testing.T) {
	t.Parallel()
	n := func(v int32) *int32 { return &v }
	for _, tt := range []struct {
		name string
		f    ReplicaFacts
		want int32
		says string
	}{
		{"set", ReplicaFacts{Wanted: n(7), MinSize: "1", MaxSize: "3"}, 7, ""},
		{"zero is set", ReplicaFacts{Wanted: n(0)}, 0, ""},
		{"new", ReplicaFacts{MinSize: "2", MaxSize: "5"}, 2, ""},
		{"below", ReplicaFacts{Existing: n(1), MinSize: "2", MaxSize: "5"}, 2, ""},
		{"above", ReplicaFacts{Existing: n(9), MinSize: "2", MaxSize: "5"}, 5, ""},
		{"within", ReplicaFacts{Existing: n(4), MinSize: "2", MaxSize: "5"}, 4, ""},
		{"no autoscaler", ReplicaFacts{Existing: n(4)}, 1, ""},
		{"half an autoscaler", ReplicaFacts{Existing: n(4), MinSize: "2"}, 1, ""},
		{"nonsense", ReplicaFacts{MinSize: "two", MaxSize: "5"}, 0, "min-size"},
		{"too large", ReplicaFacts{MinSize: "2", MaxSize: "99999999999"}, 0, "max-size"},
	} {
		got, err := DefaultReplicas(tt.f)
		if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %d, %v; want %d", tt.name, got, err, tt.want)
		}
	}
}

func TestNameList_IsShortAndStable(t *testing.T) {
	t.Parallel()
	if got := NameList([]string{"g", "b", "a", "f", "d", "c", "e"}); got != "a, b, c, d, e, ... (2 more)" {
		t.Errorf("NameList is %q", got)
	}
	if got := NameList([]string{"b", "a"}); got != "a, b" {
		t.Errorf("NameList is %q", got)
	}
}
