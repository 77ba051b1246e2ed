package view

import (
	"github.com/blang/semver/v4"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// versions returns the lowest version in use and, when it differs, the one that is wanted.
func (c Cluster) versions() (lowest, target string) {
	wanted, used := c.wantedAndUsed()
	for _, v := range used {
		if v.Version != "" && value(v.Replicas) != 0 && (lowest == "" || less(v.Version, lowest)) {
			lowest = v.Version
		}
	}
	switch {
	case lowest == "":
		return wanted, ""
	case lowest != wanted && c.wants(lowest):
		// A group of workers may be held at an older version on purpose; that is no change under way.
		return wanted, ""
	case lowest != wanted:
		return lowest, wanted
	default:
		return lowest, ""
	}
}

// wantedAndUsed returns the version that the cluster is to have, and those that its parts report.
func (c Cluster) wantedAndUsed() (wanted string, used []clusterv1.StatusVersion) {
	if c.ControlPlane != nil {
		wanted = c.ControlPlane.Spec.Version
		used = append(used, c.ControlPlane.Status.Versions...)
	}
	for i := range c.Deployments {
		md := &c.Deployments[i]
		used = append(used, md.Status.Versions...)
		if v := md.Spec.Template.Spec.Version; wanted == "" || v != "" && c.ControlPlane == nil && less(wanted, v) {
			wanted = v
		}
	}
	return wanted, used
}

// wants tells whether a deployment asks for a version.
func (c Cluster) wants(version string) bool {
	for i := range c.Deployments {
		if c.Deployments[i].Spec.Template.Spec.Version == version {
			return true
		}
	}
	return false
}

// less compares versions; what is no version sorts as text.
func less(a, b string) bool {
	va, errA := semver.ParseTolerant(a)
	vb, errB := semver.ParseTolerant(b)
	if errA != nil || errB != nil {
		return a < b
	}
	return va.LT(vb)
}
