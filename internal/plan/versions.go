package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
)

// NormalizeVersion returns the version with the leading v that the wire format wants; anything that does not begin with a
// digit is returned as it is.
func NormalizeVersion(version string) string {
	if version != "" && version[0] >= '0' && version[0] <= '9' {
		return "v" + version
	}
	return version
}

// ParseVersion parses a Kubernetes version as it stands in a spec: strict semantic versioning with a leading v. The error
// says how to mend the version.
func ParseVersion(version string) (semver.Version, error) {
	rest, found := strings.CutPrefix(version, "v")
	if version == "" {
		return semver.Version{}, fmt.Errorf("version is empty: write it like v1.37.2")
	}
	v, err := semver.Parse(rest)
	if err == nil && found {
		return v, nil
	}
	return semver.Version{}, fmt.Errorf("version %q is not a Kubernetes version: %s", version, mendVersion(rest, err))
}

// mendVersion says how a version would have to be written.
func mendVersion(rest string, err error) string {
	if err == nil {
		return fmt.Sprintf("write it with a leading v, as v%s", rest)
	}
	core, _, _ := strings.Cut(rest, "-")
	if completed, errFull := semver.Parse(core + ".0"); errFull == nil {
		return fmt.Sprintf("it lacks the patch number; write all three, as v%s", completed)
	}
	if parsed, errCore := semver.ParseTolerant(firstNumbers(rest)); errCore == nil {
		if firstNumbers(rest) == rest {
			return fmt.Sprintf("its numbers have leading zeros; write it as v%s", parsed)
		}
		return fmt.Sprintf("what follows the patch number is malformed; write it like v%s, v%s-rc.1 or v%s+vendor.1", parsed, parsed, parsed)
	}
	return "write it like v1.37.2"
}

// firstNumbers returns the leading major.minor.patch of text, or "" when there is none.
func firstNumbers(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end >= 0 {
		text = text[:end]
	}
	if strings.Count(text, ".") != 2 {
		return ""
	}
	return text
}

// ImageTag returns the version as a container image tag, in which a plus sign is not allowed.
func ImageTag(version string) string {
	return strings.ReplaceAll(version, "+", "_")
}

// CheckUpgrade returns why a control plane cannot go from one version to the other, with the step to take instead; nil
// when it can. Minors go up one at a time and never down; patches may go both ways.
func CheckUpgrade(from, to string) error {
	a, err := ParseVersion(from)
	if err != nil {
		return err
	}
	b, err := ParseVersion(to)
	if err != nil {
		return err
	}
	switch {
	case a.Major != b.Major:
		return fmt.Errorf("cannot go from %s to %s: the major version differs; choose a version v%d.%d or v%d.%d", from, to, a.Major, a.Minor, a.Major, a.Minor+1)
	case b.Minor < a.Minor:
		return fmt.Errorf("cannot go from %s down to %s: Kubernetes does not support downgrades; choose v%d.%d.%d or later", from, to, a.Major, a.Minor, a.Patch)
	case b.Minor > a.Minor+1:
		return fmt.Errorf("cannot go from %s to %s at once: minor versions go up one at a time; upgrade to v%d.%d first", from, to, a.Major, a.Minor+1)
	}
	return nil
}

// kubeletMinorsBehind is how many minors a kubelet may be older than its API server.
func kubeletMinorsBehind(controlPlane semver.Version) uint64 {
	if controlPlane.Major == 1 && controlPlane.Minor < 28 {
		return 2
	}
	return 3
}

// KubeletSkew returns why a kubelet of that version must not join a control plane of the other; empty when it may.
func KubeletSkew(controlPlane, kubelet semver.Version) string {
	switch {
	case kubelet.Major != controlPlane.Major:
		return fmt.Sprintf("version v%s has another major than control plane version v%s", kubelet, controlPlane)
	case kubelet.Minor > controlPlane.Minor:
		return fmt.Sprintf("version v%s is newer than control plane version v%s, which the Kubernetes version skew policy forbids", kubelet, controlPlane)
	case kubelet.Minor+kubeletMinorsBehind(controlPlane) < controlPlane.Minor:
		return fmt.Sprintf("version v%s is more than %d minors older than control plane version v%s, which the Kubernetes version skew policy forbids",
			kubelet, kubeletMinorsBehind(controlPlane), controlPlane)
	}
	return ""
}

// LowestVersion returns the lowest of the versions, "" when there is none. Those that do not parse are passed over. Give it
// the versions of all Machines, the ones being deleted included: an old API server serves until it is gone.
func LowestVersion(versions []string) string {
	sorted := AggregateVersions(versions)
	for _, v := range sorted {
		if _, err := ParseVersion(v.Version); err == nil {
			return v.Version
		}
	}
	return ""
}

// VersionCount is a version and how many Machines have it.
type VersionCount struct {
	// Version is the version, as observed.
	Version string
	// Replicas is the number of Machines with that version; at least 1.
	Replicas int32
}

// AggregateVersions counts the versions and returns them in ascending order; empty ones are left out, and those that do
// not parse come last, by name.
func AggregateVersions(versions []string) []VersionCount {
	counts := map[string]int32{}
	for _, v := range versions {
		if v != "" {
			counts[v]++
		}
	}
	list := make([]VersionCount, 0, len(counts))
	for v, n := range counts {
		list = append(list, VersionCount{Version: v, Replicas: n})
	}
	return sortVersions(list)
}

// MergeVersions adds up several lists of version counts, for a Cluster that sums its workers.
func MergeVersions(lists ...[]VersionCount) []VersionCount {
	counts := map[string]int32{}
	for _, list := range lists {
		for _, v := range list {
			counts[v.Version] += v.Replicas
		}
	}
	merged := make([]VersionCount, 0, len(counts))
	for v, n := range counts {
		merged = append(merged, VersionCount{Version: v, Replicas: n})
	}
	return sortVersions(merged)
}

func sortVersions(list []VersionCount) []VersionCount {
	slices.SortFunc(list, func(a, b VersionCount) int {
		va, errA := ParseVersion(a.Version)
		vb, errB := ParseVersion(b.Version)
		if c := compareBool(errA != nil, errB != nil); c != 0 {
			return c
		}
		if errA == nil && errB == nil {
			if c := va.Compare(vb); c != 0 {
				return c
			}
		}
		return strings.Compare(a.Version, b.Version)
	})
	return list
}
