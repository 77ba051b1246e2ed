// Package provision makes the three objects of a machine, which bear one name: the bootstrap configuration, the
// infrastructure machine, and the Machine that refers to both. Whoever makes Machines can be killed between any two of
// them; what is then left without a Machine is found here and finished or taken away.
package provision

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/apply"
	corev1ac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	"slipway.dev/slipway/internal/contract"
)

// Objects are the objects of one machine. Each holds what its maker wants to own of it.
type Objects struct {
	// Bootstrap is the bootstrap configuration; nil where there is none to make.
	Bootstrap *unstructured.Unstructured
	// Infrastructure is the infrastructure machine; nil where there is none to make.
	Infrastructure *unstructured.Unstructured
	// Machine refers to both.
	Machine *corev1ac.MachineApplyConfiguration
}

// Maker makes machines as one field manager. It is safe for concurrent use.
type Maker struct {
	client  client.Client
	applier *apply.Applier
}

// NewMaker returns a Maker that writes by c and the applier.
func NewMaker(c client.Client, applier *apply.Applier) *Maker {
	return &Maker{client: c, applier: applier}
}

// Made is the metadata of what was made; parts that were not asked for are nil.
type Made struct {
	// Bootstrap, Infrastructure and Machine are those of Objects.
	Bootstrap, Infrastructure, Machine *metav1.PartialObjectMetadata
}

// Make creates the objects, the Machine last, since its controller takes the others over. An object that is there already
// is left alone, whoever's it is: then the error is ErrTaken. Where the API server refuses an object, those that Make has
// made before it are taken away again, so that an owner that tries for days leaves nothing behind. Where it is not known
// whether a write arrived, everything stays: the next look tells.
func (m *Maker) Make(ctx context.Context, o Objects) (Made, error) {
	var made Made
	var err error
	if made.Bootstrap, err = m.makePart(ctx, o.Bootstrap); err != nil {
		return Made{}, err
	}
	if made.Infrastructure, err = m.makePart(ctx, o.Infrastructure); err != nil {
		return Made{}, m.rollBack(ctx, made, err)
	}
	if made.Machine, err = Create(ctx, m.client, m.applier, o.Machine); err != nil {
		return Made{}, m.rollBack(ctx, made, err)
	}
	return made, nil
}

func (m *Maker) makePart(ctx context.Context, u *unstructured.Unstructured) (*metav1.PartialObjectMetadata, error) {
	if u == nil {
		return nil, nil
	}
	return createObject(ctx, m.client, m.applier.Manager(), u)
}

// rollBack deletes what was made if err says that the API server refused what came next. What somebody has written since
// may be theirs, and stays: if it is not, it is an orphan.
func (m *Maker) rollBack(ctx context.Context, made Made, err error) error {
	if !apply.Refused(err) {
		return err
	}
	errs := []error{err}
	for _, part := range []*metav1.PartialObjectMetadata{made.Infrastructure, made.Bootstrap} {
		if part == nil {
			continue
		}
		if gone := removeUntouched(ctx, m.client, part); gone != nil && !apierrors.IsConflict(gone) {
			errs = append(errs, gone)
		}
	}
	return errors.Join(errs...)
}

// Remove deletes the object if it is still the one that was seen. An object that is gone is no error.
func Remove(ctx context.Context, c client.Client, obj client.Object) error {
	err := c.Delete(ctx, obj, client.Preconditions{UID: new(obj.GetUID())})
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("delete %s %s: %w", obj.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// Owner returns the owner reference that bootstrap configurations and infrastructure machines carry until the Machine's
// controller takes them over.
func Owner(apiVersion, kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid}
}

// OwnerOfMachines returns the controller reference that a Machine's owner puts on it.
func OwnerOfMachines(apiVersion, kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: new(true), BlockOwnerDeletion: new(true)}
}

// OwnerCluster returns the reference to the Cluster that what belongs to it and has no other owner carries: its infrastructure and
// control plane, templates, workers, Secrets.
func OwnerCluster(cluster *clusterv1.Cluster) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID}
}

// OwnTemplates makes the Cluster an owner of the templates that are not nil, so that they are deleted and moved with it.
// A template may serve several Clusters.
func OwnTemplates(ctx context.Context, c client.Client, manager string, cluster *clusterv1.Cluster, templates ...*contract.Object) error {
	var errs []error
	for _, t := range templates {
		if t == nil || t.Deleting() {
			continue
		}
		_, err := apply.Metadata(ctx, c, manager, t.Metadata(), func(m metav1.Object) {
			apply.SetOwner(m, OwnerCluster(cluster))
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
