package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/apply"
)

// ErrTaken says that an object of that name is there already, and that it was left alone. It is a lost race too.
var ErrTaken = errors.New("the name is taken")

// takenError makes the API server's answer an ErrTaken.
type takenError struct{ answer error }

func (e takenError) Error() string        { return e.answer.Error() }
func (e takenError) Is(target error) bool { return target == ErrTaken }
func (e takenError) Unwrap() error        { return e.answer }

// neverVersion is a resourceVersion that no object has: etcd counts its writes from 2. An apply that names it creates the
// object, or is a conflict where there is one. A plain apply would rewrite the other, and a POST would leave fields that
// no later apply could take away, since they would be those of an update.
const neverVersion = "1"

// Create makes an object that is not there, as the applier's field manager; else the error is ErrTaken. The applier knows
// afterwards that the intent is in place.
func Create(ctx context.Context, c client.Client, applier *apply.Applier, intent apply.Configuration) (*metav1.PartialObjectMetadata, error) {
	body, err := json.Marshal(intent)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", *intent.GetKind(), *intent.GetName(), err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(body); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", *intent.GetKind(), *intent.GetName(), err)
	}
	made, err := createObject(ctx, c, applier.Manager(), u)
	if err != nil {
		return nil, err
	}
	return made, applier.Assume(made, intent)
}

func createObject(ctx context.Context, c client.Client, manager string, u *unstructured.Unstructured) (*metav1.PartialObjectMetadata, error) {
	u = u.DeepCopy()
	u.SetResourceVersion(neverVersion)
	// An applier of its own, since nobody else's intent holds the version.
	result, err := apply.New(c, manager).ApplyObject(ctx, nil, u)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil, takenError{err}
	}
	return result.Object, err
}

// removeUntouched deletes an object if it is still as it was seen. One that is gone is no error, one that was written since
// is a lost race.
func removeUntouched(ctx context.Context, c client.Client, obj client.Object) error {
	err := c.Delete(ctx, obj, client.Preconditions{UID: new(obj.GetUID()), ResourceVersion: new(obj.GetResourceVersion())})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", obj.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}
