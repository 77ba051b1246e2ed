package kubeadmcontrolplane

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/contract"
	"slipway.dev/slipway/internal/events"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

const (
	configKind = "KubeadmConfig"
	// fingerprintAnnotation, on a KubeadmConfig, is the fingerprint of what its control plane asked for.
	fingerprintAnnotation = "slipway.dev/kubeadm-config-asked-for"
)

// sweep takes away what was made for Machines that do not exist, but for what the next step can finish. Such things are
// left only by a creation that was interrupted, in this process or in an earlier one. The API server is asked for them,
// since it is done once: what a lagging cache hid would stay for ever.
func (r *Reconciler) sweep(ctx context.Context, s *scene) error {
	if r.swept.Clean(s.kcp.UID) {
		return nil
	}
	orphans, err := r.orphans(ctx, s)
	if err != nil {
		return err
	}
	if len(orphans) == 0 {
		r.swept.Done(s.kcp.UID)
		return nil
	}
	if err := r.fresh(ctx, s); err != nil {
		return err
	}
	var errs []error
	finish := s.step.Kind == plan.InitAction || s.step.Kind == plan.ScaleUpAction
	for _, o := range orphans {
		if finish && s.finishable(o) {
			s.begun, finish = &o, false
			continue
		}
		errs = append(errs, o.Discard(ctx, r.Client))
	}
	return errors.Join(errs...)
}

func (r *Reconciler) orphans(ctx context.Context, s *scene) ([]provision.Orphan, error) {
	ref := s.kcp.Spec.MachineTemplate.Spec.InfrastructureRef
	var infrastructure schema.GroupVersionKind
	kind, err := r.resolver.Resolve(ctx, schema.GroupKind{Group: ref.APIGroup, Kind: contract.KindFromTemplate(ref.Kind)})
	if _, stalled := outcome.AsStall(err); err != nil && !stalled {
		return nil, err
	}
	if err == nil {
		infrastructure = kind.GroupVersionKind // Else there can be no such objects.
	}
	return provision.Orphans(ctx, r.APIReader, provision.Search{
		Owner:          s.kcp.UID,
		Bootstrap:      bootstrapv1.GroupVersion.WithKind(configKind),
		Infrastructure: infrastructure,
		Options:        append(inCluster(s.key), client.HasLabels{clusterv1.MachineControlPlaneLabel}),
		Exists:         func(name string) bool { return s.machine(name) != nil },
	})
}

// finishable reports whether what there is of a machine is what would be made now.
func (s *scene) finishable(o provision.Orphan) bool {
	if o.Infrastructure != nil {
		ref := s.kcp.Spec.MachineTemplate.Spec.InfrastructureRef
		if name, kind, ok := contract.ClonedFrom(o.Infrastructure); !ok || name != ref.Name || kind != ref.GroupKind() {
			return false
		}
	}
	if o.Bootstrap == nil {
		return true
	}
	asked, err := config.Fingerprint(&s.kcp.Spec.KubeadmConfigSpec, s.joining())
	return err == nil && o.Bootstrap.GetAnnotations()[fingerprintAnnotation] == asked
}

// joining reports whether the next Machine joins; else it initializes the control plane.
func (s *scene) joining() bool { return s.step.Kind != plan.InitAction }

// grow makes the Machine that the plan asks for.
func (r *Reconciler) grow(ctx context.Context, s *scene) error {
	if s.template.Object == nil {
		return nil // The obstacle is told, and its end is an event.
	}
	begun := provision.Orphan{}
	if s.begun != nil {
		begun = *s.begun
	}
	var made provision.Made
	name, err := r.maker.Named(ctx, begun, s.naming(r.Random), func(o provision.Orphan) (err error) {
		made, err = r.make(ctx, s, o)
		return err
	})
	if err != nil {
		s.refused = errors.New(provision.Refusal(err, name))
		if r.told.IsNew(s.kcp.UID, events.FailedCreate, s.refused.Error()) {
			r.Recorder.Eventf(s.kcp, nil, corev1.EventTypeWarning, events.FailedCreate, events.Create, "%s", conditions.Bounded(s.refused.Error()))
		}
		return fmt.Errorf("create Machine %s: %w", name, err)
	}
	r.told.Mended(s.kcp.UID, events.FailedCreate)
	r.tracker.Wrote(s.kcp.UID, made.Machine)
	r.Recorder.Eventf(s.kcp, made.Machine, corev1.EventTypeNormal, events.SuccessfulCreate, events.Create, "Created Machine %s", name)
	return r.keeper.Assume(s.metadata(), made.Bootstrap, made.Infrastructure)
}

// naming says how the control plane's Machines are named.
func (s *scene) naming(pick func(n int) int) provision.Naming {
	return provision.Naming{Namespace: s.kcp.Namespace, Pick: pick, Facts: plan.NameFacts{
		Template: s.kcp.Spec.MachineNaming.Template, Cluster: s.key.Name,
		Owner: plan.KubeadmControlPlaneOwner, OwnerName: s.kcp.Name,
	}}
}

// make makes what is missing of one machine.
func (r *Reconciler) make(ctx context.Context, s *scene, begun provision.Orphan) (provision.Made, error) {
	objects := provision.Objects{}
	infrastructure := begun.Infrastructure
	if infrastructure == nil {
		clone, err := s.template.Object.Clone(contract.Clone{
			Name: begun.Name, Namespace: s.kcp.Namespace, ClusterName: s.key.Name,
			Owners: []metav1.OwnerReference{s.maker()}, Labels: s.labels(), Annotations: maps.Clone(s.kcp.Spec.MachineTemplate.ObjectMeta.Annotations),
		})
		if err != nil {
			return provision.Made{}, err
		}
		objects.Infrastructure, infrastructure = clone, clone
	}
	if begun.Bootstrap == nil {
		c, err := s.newConfig(begun.Name)
		if err != nil {
			return provision.Made{}, err
		}
		objects.Bootstrap = c
	}
	intent, err := s.newMachine(begun.Name, infrastructure.GroupVersionKind().GroupKind())
	if err != nil {
		return provision.Made{}, err
	}
	objects.Machine = intent
	made, err := r.maker.Make(ctx, objects)
	if err != nil {
		r.doubt(s, err)
	}
	return made, err
}

// maker is the reference that bootstrap and infrastructure objects carry until the Machine takes them over.
func (s *scene) maker() metav1.OwnerReference {
	return provision.Owner(controlplanev1.GroupVersion.String(), ownKind, s.kcp.Name, s.kcp.UID)
}

// newConfig returns the KubeadmConfig of a machine.
func (s *scene) newConfig(name string) (*unstructured.Unstructured, error) {
	asked, err := config.Fingerprint(&s.kcp.Spec.KubeadmConfigSpec, s.joining())
	if err != nil {
		return nil, err
	}
	metadata := s.metadata()
	c := &bootstrapv1.KubeadmConfig{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.kcp.Namespace, OwnerReferences: []metav1.OwnerReference{s.maker()},
			Labels: metadata.Labels, Annotations: maps.Clone(metadata.Annotations),
		},
		Spec: *s.kcp.Spec.KubeadmConfigSpec.DeepCopy(),
	}
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[fingerprintAnnotation] = asked
	if s.joining() {
		c.Spec.InitConfiguration = bootstrapv1.InitConfiguration{}
		if c.Spec.JoinConfiguration.ControlPlane == nil {
			c.Spec.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
		}
	} else {
		c.Spec.JoinConfiguration = bootstrapv1.JoinConfiguration{}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
	if err != nil {
		return nil, fmt.Errorf("turn KubeadmConfig %s into an intent: %w", name, err)
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(bootstrapv1.GroupVersion.WithKind(configKind))
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u, nil
}

// madeFrom names the infrastructure template of a Machine; empty when it is not recorded. Its group is told only where that
// is what tells it from the one asked for.
func (r *Reconciler) madeFrom(ctx context.Context, m *clusterv1.Machine, asked clusterv1.ContractVersionedObjectReference) (string, error) {
	object, err := r.infrastructure(ctx, m)
	if err != nil || object == nil {
		return "", err
	}
	name, kind, ok := contract.ClonedFrom(object.Metadata())
	if !ok {
		return "", nil
	}
	if kind.Kind == asked.Kind && kind.Group != asked.APIGroup {
		return kind.String() + " " + name, nil
	}
	return kind.Kind + " " + name, nil
}
