package plan

import (
	"fmt"
	"slices"
	"strings"
)

// EvictionFailure is an eviction that the cluster did not grant.
type EvictionFailure struct {
	// Pod is "namespace/name".
	Pod string
	// Message is the cluster's answer; that of a disruption budget names it.
	Message string
}

// Message describes what a drain waits for, fit for a condition; empty when it is done. The failures are those of the
// evictions just tried.
func (p DrainPlan) Message(failures []EvictionFailure) string {
	if p.Done {
		return ""
	}
	var lines []string
	for _, f := range groupFailures(failures) {
		lines = append(lines, "* "+f)
	}
	going := slices.Concat(podNames(p.Terminating), p.evicted(failures))
	if len(going) > 0 {
		lines = append(lines, fmt.Sprintf("* %s: waiting for termination", podList(going)))
	}
	if done := podNames(p.Completing); len(done) > 0 {
		lines = append(lines, fmt.Sprintf("* %s: waiting for completion", podList(done)))
	}
	if later := podNames(p.Later); len(later) > 0 {
		lines = append(lines, "* "+counted(len(later), "Pod")+" will be evicted after these")
	}
	return "Drain not completed yet:\n" + strings.Join(lines, "\n")
}

// evicted returns the Pods whose eviction was granted.
func (p DrainPlan) evicted(failures []EvictionFailure) []string {
	return slices.DeleteFunc(podNames(p.Evict), func(name string) bool {
		return slices.ContainsFunc(failures, func(f EvictionFailure) bool { return f.Pod == name })
	})
}

// groupFailures puts Pods with the same answer in one line.
func groupFailures(failures []EvictionFailure) []string {
	pods := map[string][]string{}
	for _, f := range failures {
		pods[f.Message] = append(pods[f.Message], f.Pod)
	}
	var lines []string
	for message, list := range pods {
		lines = append(lines, podList(list)+": "+message)
	}
	slices.Sort(lines)
	return lines
}

func podList(list []string) string {
	if len(list) == 1 {
		return "Pod " + list[0]
	}
	return "Pods " + NameList(list)
}

func podNames(decisions []PodDecision) []string {
	list := make([]string, len(decisions))
	for i, d := range decisions {
		list[i] = d.Pod.Namespace + "/" + d.Pod.Name
	}
	return list
}

// VolumeFacts is everything that decides whether the volumes of a drained Node are still waited for.
type VolumeFacts struct {
	// NodeUnreachable says that the Node's kubelet no longer reports; nothing would detach its volumes.
	NodeUnreachable bool
	// Attached are the volumes that the Node's status or an attached VolumeAttachment names.
	Attached []AttachedVolume
	// AttachedRead says whether they could be read.
	AttachedRead Tri
	// SkippedClaims are those of the DrainPlan.
	SkippedClaims []string
}

// AttachedVolume is one volume attached to a Node.
type AttachedVolume struct {
	// PersistentVolume is the name of the PersistentVolume; empty for a volume that has none, which is not waited for.
	PersistentVolume string
	// Claim is "namespace/name" of the claim it is bound to; empty when unbound.
	Claim string
}

// VolumesDetached decides whether all volumes that have to leave the Node have left it, and says what is waited for.
func VolumesDetached(f VolumeFacts) (Tri, string) {
	if f.NodeUnreachable {
		return True, "The Node is unreachable, so its volumes are not waited for"
	}
	if f.AttachedRead != True {
		return Unknown, "The volumes attached to the Node could not be read"
	}
	var claims, volumes []string
	for _, v := range f.Attached {
		switch {
		case v.PersistentVolume == "" || slices.Contains(f.SkippedClaims, v.Claim):
		case v.Claim != "":
			claims = append(claims, v.Claim)
		default:
			volumes = append(volumes, v.PersistentVolume)
		}
	}
	var parts []string
	if claims = sortedUnique(claims); len(claims) > 0 {
		parts = append(parts, "PersistentVolumeClaims "+NameList(claims))
	}
	if volumes = sortedUnique(volumes); len(volumes) > 0 {
		parts = append(parts, "PersistentVolumes "+NameList(volumes))
	}
	if len(parts) == 0 {
		return True, ""
	}
	return False, "Waiting for Node volumes to be detached: " + strings.Join(parts, " and ")
}

func sortedUnique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
