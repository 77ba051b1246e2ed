package plan

import (
	"fmt"
	"slices"
	"strings"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// ObservedComponent is one component of a Machine and the version it was seen to run.
type ObservedComponent struct {
	// Component is its name as a reader knows it: "kubelet", "kube-apiserver".
	Component string
	// Version is what was observed; empty when it could not be observed.
	Version string
}

// VersionMatch is the content of the condition VersionsMatch.
type VersionMatch struct {
	// Status is True when every observed component runs the wanted version, False when one does not, Unknown when a
	// component could not be observed and none differs.
	Status Tri
	// Reason is "VersionsMatch", "VersionsDiffer" or "NotObservable".
	Reason string
	// Message names what differs or could not be observed.
	Message string
}

// VersionsMatch compares the components that follow the Machine's spec.version with it. Components of other numbering
// (etcd, the container runtime) do not belong in the list. A want of "" asks for no version, and matches.
func VersionsMatch(want string, components []ObservedComponent) VersionMatch {
	var differ, unseen []string
	for _, c := range components {
		switch {
		case c.Version == "":
			unseen = append(unseen, c.Component)
		case want != "" && !SameVersion(want, c.Version):
			differ = append(differ, fmt.Sprintf("%s runs %s", c.Component, c.Version))
		}
	}
	slices.Sort(differ)
	switch {
	case len(differ) > 0:
		return VersionMatch{False, clusterv1.VersionsDifferReason, fmt.Sprintf("The spec asks for %s, but %s", want, strings.Join(differ, ", "))}
	case len(unseen) > 0 || len(components) == 0:
		return VersionMatch{Unknown, clusterv1.VersionsNotObservableReason, notObservable(unseen)}
	case want == "":
		return VersionMatch{True, clusterv1.VersionsMatchReason, "The spec asks for no version"}
	default:
		return VersionMatch{True, clusterv1.VersionsMatchReason, fmt.Sprintf("All components run %s", want)}
	}
}

func notObservable(unseen []string) string {
	if len(unseen) == 0 {
		return "No component could be observed"
	}
	return "Could not be observed: " + NameList(unseen)
}

// SameVersion reports whether an observed version is the wanted one. A missing leading v does not matter, and build
// metadata only when the wanted version names some.
func SameVersion(want, observed string) bool {
	want, observed = NormalizeVersion(want), NormalizeVersion(observed)
	if want == observed {
		return true
	}
	a, errA := ParseVersion(want)
	b, errB := ParseVersion(observed)
	return errA == nil && errB == nil && a.EQ(b) && len(a.Build) == 0
}
