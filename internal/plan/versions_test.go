package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseVersion_RefusesWhatIsMalformedAndSaysHowToMend(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"v1.37.2", "v1.30.0+vendor.1", "v1.30.0-rc.1", "v1.30.0-alpha.1+build.5", "v0.0.0"} {
		if _, err := ParseVersion(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, says := range map[string]string{
		"":                "write it like v1.37.2",
		"1.37":            "v1.37.0",
		"v1.37":           "v1.37.0",
		"v1":              "write it like v1.37.2",
		"1.37.2":          "leading v, as v1.37.2",
		"v1.2.3abc":       "like v1.2.3, v1.2.3-rc.1",
		"v1.2.3_foo":      "like v1.2.3",
		"v1.2.3-":         "like v1.2.3",
		"v1.2.3-01":       "like v1.2.3",
		"v1.2.3++":        "like v1.2.3",
		"v1.2.3-alpha..1": "like v1.2.3",
		"latest":          "write it like v1.37.2",
		"vv1.2.3":         "write it like v1.37.2",
		"v1.2.3.4":        "write it like v1.37.2",
		" v1.2.3":         "write it like v1.37.2",
		"v01.2.3":         "leading zeros; write it as v1.2.3",
		"v1.2.3+vendor 1": "like v1.2.3",
		"v1.2.3\n":        "like v1.2.3",
		"version-1.2.3":   "write it like v1.37.2",
		"v1.37-rc.1":      "v1.37.0",
	} {
		_, err := ParseVersion(bad)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want one that says %q", bad, err, says)
		}
	}
}

func TestNormalizeVersion_AddsOnlyTheV(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"1.37.2": "v1.37.2", "v1.37.2": "v1.37.2", "": "", "latest": "latest"} {
		if got := NormalizeVersion(in); got != want {
			t.Errorf("NormalizeVersion(%q) is %q, want %q", in, got, want)
		}
	}
	if got := ImageTag("v1.30.0+vendor.1"); got != "v1.30.0_vendor.1" {
		t.Errorf("ImageTag is %q", got)
	}
}

func TestCheckUpgrade_OneMinorAtATime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to, says string }{
		{"v1.36.1", "v1.37.2", ""},
		{"v1.36.1", "v1.36.1", ""},
		{"v1.36.4", "v1.36.1", ""},
		{"v1.36.1", "v1.36.4", ""},
		{"v1.35.1", "v1.37.2", "upgrade to v1.36 first"},
		{"v1.37.2", "v1.36.9", "does not support downgrades"},
		{"v1.37.2", "v2.0.0", "major"},
		{"v1.37.2", "1.38", "v1.38.0"},
		{"oops", "v1.38.0", "oops"},
	} {
		err := CheckUpgrade(tt.from, tt.to)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s to %s: %v, want %q", tt.from, tt.to, err, tt.says)
		}
	}
}

func TestLowestVersion_CountsEveryMachine(t *testing.T) {
	t.Parallel()
	// The old API server still serves while its Machine is held in deletion.
	if got := LowestVersion([]string{"v1.31.0", "v1.30.5", "", "v1.30.10"}); got != "v1.30.5" {
		t.Errorf("lowest is %q, want v1.30.5", got)
	}
	if got := LowestVersion([]string{"", "nonsense"}); got != "" {
		t.Errorf("lowest of none is %q", got)
	}
	want := []VersionCount{{"v1.9.0", 1}, {"v1.10.0-rc.1", 1}, {"v1.10.0", 2}, {"odd", 1}}
	if diff := cmp.Diff(want, AggregateVersions([]string{"v1.10.0", "odd", "v1.9.0", "", "v1.10.0-rc.1", "v1.10.0"})); diff != "" {
		t.Errorf("aggregate (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]VersionCount{{"v1.9.0", 3}, {"v1.10.0", 1}},
		MergeVersions([]VersionCount{{"v1.9.0", 1}, {"v1.10.0", 1}}, nil, []VersionCount{{"v1.9.0", 2}})); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
}

func TestVersionsMatch_NamesWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		want       string
		components []ObservedComponent
		status     Tri
		says       string
	}{
		{"all the same", "v1.37.2", []ObservedComponent{{"kubelet", "v1.37.2"}, {"kube-apiserver", "1.37.2"}}, True, "All components run v1.37.2"},
		{"one differs", "v1.37.2", []ObservedComponent{{"kubelet", "v1.36.0"}, {"kube-apiserver", "v1.37.2"}}, False, "kubelet runs v1.36.0"},
		{"difference beats ignorance", "v1.37.2", []ObservedComponent{{"kubelet", "v1.36.0"}, {"kube-apiserver", ""}}, False, "kubelet runs v1.36.0"},
		{"one unseen", "v1.37.2", []ObservedComponent{{"kubelet", "v1.37.2"}, {"kube-apiserver", ""}}, Unknown, "kube-apiserver"},
		{"none", "v1.37.2", nil, Unknown, "No component"},
		{"a vendor's build of the same", "v1.37.2", []ObservedComponent{{"kubelet", "v1.37.2+k3s1"}}, True, ""},
		{"another build than asked for", "v1.37.2+a", []ObservedComponent{{"kubelet", "v1.37.2+b"}}, False, "v1.37.2+b"},
		{"nothing asked for", "", []ObservedComponent{{"kubelet", "v1.37.2"}}, True, "no version"},
	} {
		if got := VersionsMatch(tt.want, tt.components); got.Status != tt.status || !strings.Contains(got.Message, tt.says) || got.Reason == "" {
			t.Errorf("%s: %+v; want %s and %q", tt.name, got, tt.status, tt.says)
		}
	}
}

func TestUpToDate_SaysWhatIsNot(t *testing.T) {
	t.Parallel()
	same := ControlPlaneSpecFacts{Version: "v1.37.2", MachineVersion: "v1.37.2", Infrastructure: "t1", MachineInfrastructure: "t1", Created: at(-100)}
	for _, tt := range []struct {
		name   string
		change func(*ControlPlaneSpecFacts)
		says   string
	}{
		{"nothing", func(*ControlPlaneSpecFacts) {}, ""},
		{"version", func(f *ControlPlaneSpecFacts) { f.Version = "v1.38.0" }, "Version v1.37.2, v1.38.0 required"},
		{"config", func(f *ControlPlaneSpecFacts) { f.ConfigDiffers = []string{"spec.files"} }, "spec.files"},
		{"infrastructure", func(f *ControlPlaneSpecFacts) { f.Infrastructure = "t2" }, "t2 required"},
		{"infrastructure not recorded", func(f *ControlPlaneSpecFacts) { f.Infrastructure, f.MachineInfrastructure = "t2", "" }, ""},
		{"rollout after", func(f *ControlPlaneSpecFacts) { f.RolloutAfter = at(-50) }, "rollout.after"},
		{"rollout after, later", func(f *ControlPlaneSpecFacts) { f.RolloutAfter = at(50) }, ""},
		{"certificates", func(f *ControlPlaneSpecFacts) { f.ExpiryDays, f.CertificatesExpire = 7, at(6*24*3600) }, "7 days"},
		{"certificates not yet", func(f *ControlPlaneSpecFacts) { f.ExpiryDays, f.CertificatesExpire = 7, at(8*24*3600) }, ""},
		{"certificates unknown", func(f *ControlPlaneSpecFacts) { f.ExpiryDays = 7 }, ""},
	} {
		f := same
		tt.change(&f)
		got := strings.Join(ControlPlaneOutdated(f, epoch), ";")
		if (got == "") != (tt.says == "") || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.says)
		}
	}
	for _, tt := range []struct {
		name   string
		f      WorkerSpecFacts
		status Tri
		reason string
	}{
		{"current", WorkerSpecFacts{SetCurrent: True, Version: "v1.37.2", KubeletVersion: "v1.37.2"}, True, "UpToDate"},
		{"unread", WorkerSpecFacts{}, Unknown, "UpToDateUnknown"},
		{"an old template", WorkerSpecFacts{SetCurrent: False, SetDiffers: []string{"Version v1, v2 required"}}, False, "NotUpToDate"},
		{"before rollout.after", WorkerSpecFacts{SetCurrent: True, SetCreated: at(-9), RolloutAfter: at(-5)}, False, "NotUpToDate"},
		{"updating", WorkerSpecFacts{SetCurrent: True, Updating: true}, False, "Updating"},
		{"an older kubelet", WorkerSpecFacts{SetCurrent: True, Version: "v1.37.2", KubeletVersion: "v1.36.0"}, False, "Updating"},
		{"no Node yet", WorkerSpecFacts{SetCurrent: True, Version: "v1.37.2"}, True, "UpToDate"},
	} {
		if got := WorkerUpToDate(tt.f, epoch); got.Status != tt.status || got.Reason != tt.reason || (got.Status != True) != (len(got.Messages) > 0) {
			t.Errorf("%s: %+v, want %s %s", tt.name, got, tt.status, tt.reason)
		}
	}
}
