package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// PreflightFacts is everything the preflight checks of a MachineSet look at.
type PreflightFacts struct {
	// ControlPlane is "Kind name" of the object that Cluster.spec.controlPlaneRef names, for messages; empty when the
	// Cluster has none, and then nothing is checked.
	ControlPlane string
	// ControlPlaneRead says whether that object could be read; False means that it does not exist.
	ControlPlaneRead Tri
	// ControlPlaneVersion and ControlPlaneStatusVersion are its spec.version and status.version; an empty spec.version
	// means that the control plane manages no version, and then nothing is checked.
	ControlPlaneVersion, ControlPlaneStatusVersion string
	// TopologyManaged says that the Cluster has a topology.
	TopologyManaged bool
	// Version is spec.template.spec.version of the MachineSet; empty when unset.
	Version string
	// KubeadmBootstrap says that its bootstrap template is a KubeadmConfigTemplate.
	KubeadmBootstrap bool
	// Skip are the checks that the annotation skip-preflight-checks names (see SkippedChecks).
	Skip []clusterv1.MachineSetPreflightCheck
}

// PreflightFailure is one check that holds a MachineSet back.
type PreflightFailure struct {
	// Check is the check that failed.
	Check clusterv1.MachineSetPreflightCheck
	// Message says what is wrong, fit for a condition.
	Message string
}

// SkippedChecks parses the value of the annotation skip-preflight-checks: names separated by commas. The second result
// holds the names that are not known.
func SkippedChecks(annotation string) (checks []clusterv1.MachineSetPreflightCheck, unknown []string) {
	known := []clusterv1.MachineSetPreflightCheck{clusterv1.MachineSetPreflightCheckAll, clusterv1.MachineSetPreflightCheckControlPlaneIsStable, clusterv1.MachineSetPreflightCheckKubernetesVersionSkew, clusterv1.MachineSetPreflightCheckKubeadmVersionSkew, clusterv1.MachineSetPreflightCheckControlPlaneVersionSkew}
	for name := range strings.SplitSeq(annotation, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
		case slices.Contains(known, clusterv1.MachineSetPreflightCheck(name)):
			checks = append(checks, clusterv1.MachineSetPreflightCheck(name))
		default:
			unknown = append(unknown, name)
		}
	}
	return checks, unknown
}

// Preflight returns the checks that hold a MachineSet back from creating Machines; none means that it may. A control plane
// that could not be read holds it back too.
func Preflight(f PreflightFacts) []PreflightFailure {
	if f.ControlPlane == "" || slices.Contains(f.Skip, clusterv1.MachineSetPreflightCheckAll) {
		return nil
	}
	if f.ControlPlaneRead != True {
		message := fmt.Sprintf("%s could not be read", f.ControlPlane)
		if f.ControlPlaneRead == False {
			message = fmt.Sprintf("%s does not exist", f.ControlPlane)
		}
		return failures(f, clusterv1.MachineSetPreflightCheckControlPlaneIsStable, message)
	}
	if f.ControlPlaneVersion == "" {
		return nil
	}
	var failed []PreflightFailure
	failed = append(failed, failures(f, clusterv1.MachineSetPreflightCheckControlPlaneIsStable, unstable(f))...)
	if f.Version == "" {
		return failed
	}
	controlPlane, err := ParseVersion(f.ControlPlaneVersion)
	if err != nil {
		return append(failed, failures(f, clusterv1.MachineSetPreflightCheckKubernetesVersionSkew, fmt.Sprintf("%s: %v", f.ControlPlane, err))...)
	}
	workers, err := ParseVersion(f.Version)
	if err != nil {
		return append(failed, failures(f, clusterv1.MachineSetPreflightCheckKubernetesVersionSkew, fmt.Sprintf("MachineSet: %v", err))...)
	}
	failed = append(failed, failures(f, clusterv1.MachineSetPreflightCheckKubernetesVersionSkew, KubeletSkew(controlPlane, workers))...)
	failed = append(failed, failures(f, clusterv1.MachineSetPreflightCheckKubeadmVersionSkew, kubeadmSkew(f, controlPlane, workers))...)
	return append(failed, failures(f, clusterv1.MachineSetPreflightCheckControlPlaneVersionSkew, topologySkew(f, controlPlane, workers))...)
}

// PreflightMessages returns the messages of the failures, for RolloutFacts.Held and SetScaleFacts.Held.
func PreflightMessages(failed []PreflightFailure) []string {
	var messages []string
	for _, p := range failed {
		messages = append(messages, fmt.Sprintf("%s (%s preflight check failed)", p.Message, p.Check))
	}
	return messages
}

func failures(f PreflightFacts, check clusterv1.MachineSetPreflightCheck, message string) []PreflightFailure {
	if message == "" || slices.Contains(f.Skip, check) {
		return nil
	}
	return []PreflightFailure{{Check: check, Message: message}}
}

// unstable says why Machines that join now might meet a control plane of another version; empty when they would not.
func unstable(f PreflightFacts) string {
	switch {
	case f.ControlPlaneStatusVersion == "":
		return fmt.Sprintf("%s is provisioning", f.ControlPlane)
	}
	spec, errSpec := ParseVersion(f.ControlPlaneVersion)
	status, errStatus := ParseVersion(f.ControlPlaneStatusVersion)
	if errSpec != nil || errStatus != nil || spec.EQ(status) {
		return ""
	}
	return fmt.Sprintf("%s is upgrading from %s to %s", f.ControlPlane, f.ControlPlaneStatusVersion, f.ControlPlaneVersion)
}

func kubeadmSkew(f PreflightFacts, controlPlane, workers semver.Version) string {
	if !f.KubeadmBootstrap || controlPlane.Major == workers.Major && controlPlane.Minor == workers.Minor {
		return ""
	}
	return fmt.Sprintf("MachineSet version %s and control plane version %s differ in their minor, which kubeadm does not support for joining",
		f.Version, f.ControlPlaneVersion)
}

func topologySkew(f PreflightFacts, controlPlane, workers semver.Version) string {
	if !f.TopologyManaged || controlPlane.EQ(workers) {
		return ""
	}
	return fmt.Sprintf("MachineSet version %s differs from control plane version %s", f.Version, f.ControlPlaneVersion)
}
