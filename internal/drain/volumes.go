package drain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/plan"
)

// csiPrefix begins the name under which a Node reports a volume of a CSI driver: prefix, driver, caret, handle.
const csiPrefix = "kubernetes.io/csi/"

// Detached reports whether the volumes that have to leave the Node have left it, and says what is waited for. Volumes of
// Pods that stay are not waited for.
func (n Node) Detached(ctx context.Context) (plan.Tri, string, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	facts := plan.VolumeFacts{NodeUnreachable: Unreachable(n.Object)}
	if !facts.NodeUnreachable {
		var err error
		if facts.Attached, err = n.attached(ctx); err != nil {
			return plan.Unknown, "", err
		}
		facts.AttachedRead = plan.True
		if len(facts.Attached) > 0 {
			staying, err := n.Plan(ctx)
			if err != nil {
				return plan.Unknown, "", err
			}
			facts.SkippedClaims = staying.SkippedClaims
		}
	}
	detached, message := plan.VolumesDetached(facts)
	return detached, message, nil
}

// attached reads the volumes that the Node or an attachment names.
func (n Node) attached(ctx context.Context) ([]plan.AttachedVolume, error) {
	names, err := n.attachments(ctx)
	if err != nil {
		return nil, err
	}
	var handles []string
	for _, v := range n.Object.Status.VolumesAttached {
		if handle, ok := strings.CutPrefix(string(v.Name), csiPrefix); ok {
			handles = append(handles, handle)
		}
	}
	if len(names) == 0 && len(handles) == 0 {
		return nil, nil
	}
	var found []plan.AttachedVolume
	volumes := &corev1.PersistentVolumeList{}
	for next := ""; ; next = volumes.Continue {
		if err := n.Workload.List(ctx, volumes, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list PersistentVolumes: %w", err)
		}
		for i := range volumes.Items {
			if pv := &volumes.Items[i]; slices.Contains(names, pv.Name) || slices.Contains(handles, handleOf(pv)) {
				found = append(found, attachedVolume(pv))
			}
		}
		if volumes.Continue == "" {
			return found, nil
		}
	}
}

// attachments are the PersistentVolumes that are attached to the Node by a VolumeAttachment.
func (n Node) attachments(ctx context.Context) ([]string, error) {
	var names []string
	list := &storagev1.VolumeAttachmentList{}
	for next := ""; ; next = list.Continue {
		if err := n.Workload.List(ctx, list, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list VolumeAttachments: %w", err)
		}
		for i := range list.Items {
			a := &list.Items[i]
			if a.Spec.NodeName == n.Object.Name && a.Status.Attached && a.Spec.Source.PersistentVolumeName != nil {
				names = append(names, *a.Spec.Source.PersistentVolumeName)
			}
		}
		if list.Continue == "" {
			return names, nil
		}
	}
}

func handleOf(pv *corev1.PersistentVolume) string {
	if pv.Spec.CSI == nil {
		return ""
	}
	return pv.Spec.CSI.Driver + "^" + pv.Spec.CSI.VolumeHandle
}

func attachedVolume(pv *corev1.PersistentVolume) plan.AttachedVolume {
	v := plan.AttachedVolume{PersistentVolume: pv.Name}
	if ref := pv.Spec.ClaimRef; ref != nil {
		v.Claim = ref.Namespace + "/" + ref.Name
	}
	return v
}
