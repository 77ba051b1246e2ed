package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gobuffalo/flect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/outcome"
)

// Version is a version of the contract between Cluster API and its providers. It is not the version of an API.
type Version string

const (
	// V1Beta1 is the older contract: status.ready and conditions with a severity.
	V1Beta1 Version = "v1beta1"
	// V1Beta2 is the contract of today: status.initialization and metav1 conditions.
	V1Beta2 Version = "v1beta2"
)

// labelPrefix and a contract's version make the label of a CRD that lists the API versions that keep that contract.
const labelPrefix = "cluster.x-k8s.io/"

// crdRecheck is how soon a stalled reference is looked at again: installing a provider makes no event for its owner.
const crdRecheck = 30 * time.Second

// Reasons of the stalls that this package returns.
const (
	// KindNotInstalledReason says that a reference's kind has no CustomResourceDefinition.
	KindNotInstalledReason = "KindNotInstalled"
	// ContractNotSupportedReason says that a CustomResourceDefinition names no contract that we speak.
	ContractNotSupportedReason = "ContractNotSupported"
	// InvalidFieldReportedReason says that a provider's object has a field that breaks the contract.
	InvalidFieldReportedReason = "InvalidFieldReported"
)

var (
	// ErrKindNotInstalled is in the Stall for a kind without a CustomResourceDefinition.
	ErrKindNotInstalled = errors.New("kind is not installed")
	// ErrContractNotSupported is in the Stall for a CustomResourceDefinition without a usable contract label.
	ErrContractNotSupported = errors.New("contract is not supported")
)

// supported returns the contracts that we speak, the preferred first.
func supported() []Version { return []Version{V1Beta2, V1Beta1} }

// CRDName returns the name that the contract demands of a kind's CustomResourceDefinition.
func CRDName(gk schema.GroupKind) string {
	return flect.Pluralize(strings.ToLower(gk.Kind)) + "." + gk.Group
}

// Kind is a kind in the version in which it is read, with the contract that this version keeps.
type Kind struct {
	schema.GroupVersionKind
	// Contract that the version keeps.
	Contract Version
}

// Resolver finds the objects that references name. It is safe for concurrent use.
type Resolver struct {
	reader   client.Reader
	live     client.Reader
	listings listings
}

// NewResolver returns a Resolver that reads metadata of CustomResourceDefinitions and unstructured objects. The reader
// is usually the manager's client with both in its cache.
func NewResolver(reader client.Reader) *Resolver { return &Resolver{reader: reader} }

// Asking has the Resolver ask the API server why a kind cannot be listed, and returns it. It is for the set-up.
func (r *Resolver) Asking(live client.Reader) *Resolver {
	r.live = live
	return r
}

// Resolve returns the version in which to read a kind. The error is an *outcome.Stall when the kind is not installed or
// keeps no contract that we speak.
func (r *Resolver) Resolve(ctx context.Context, gk schema.GroupKind) (Kind, error) {
	name := CRDName(gk)
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	})
	err := r.reader.Get(ctx, client.ObjectKey{Name: name}, crd, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return Kind{}, notInstalled(gk, name)
	case err != nil:
		return Kind{}, fmt.Errorf("get metadata of CustomResourceDefinition %s: %w", name, err)
	}
	return kindOf(gk, name, crd.GetLabels())
}

// kindOf picks the version by the labels of a CRD.
func kindOf(gk schema.GroupKind, crd string, labels map[string]string) (Kind, error) {
	for _, contract := range supported() {
		if v := highest(labels[labelPrefix+string(contract)]); v != "" {
			return Kind{GroupVersionKind: gk.WithVersion(v), Contract: contract}, nil
		}
	}
	return Kind{}, &outcome.Stall{
		Reason: ContractNotSupportedReason,
		Message: fmt.Sprintf("CustomResourceDefinition %s has neither the label %s%s nor %s%s, whose value lists the versions that keep the contract; "+
			"install a version of the provider that has one of them, or add it where the provider is your own", crd, labelPrefix, V1Beta2, labelPrefix, V1Beta1),
		Recheck: crdRecheck,
		Err:     ErrContractNotSupported,
	}
}

func notInstalled(gk schema.GroupKind, crd string) error {
	return &outcome.Stall{
		Reason: KindNotInstalledReason,
		Message: fmt.Sprintf("There is no CustomResourceDefinition %s for kind %s of group %s; install the provider that serves it, or correct the reference",
			crd, gk.Kind, gk.Group),
		Recheck: crdRecheck,
		Err:     ErrKindNotInstalled,
	}
}

// highest returns the version of the list (joined by underscores) that Kubernetes ranks first: stable before beta
// before alpha, then by number.
func highest(list string) string {
	versions := slices.DeleteFunc(strings.Split(list, "_"), func(v string) bool { return v == "" })
	if len(versions) == 0 {
		return ""
	}
	return slices.MaxFunc(versions, func(a, b string) int {
		return cmp.Or(version.CompareKubeAwareVersionStrings(a, b), cmp.Compare(a, b))
	})
}

// Get returns the object that a reference names in the namespace. apierrors.IsNotFound tells that it is not there; other
// errors are those of Resolve and of the reader, and an *outcome.Stall when the cache waits for the first list of the kind in
// vain.
func (r *Resolver) Get(ctx context.Context, ref clusterv1.ContractVersionedObjectReference, namespace string) (*Object, error) {
	kind, err := r.Resolve(ctx, ref.GroupKind())
	if err != nil {
		return nil, fmt.Errorf("resolve %s %s/%s: %w", ref.Kind, namespace, ref.Name, err)
	}
	return r.get(ctx, kind, client.ObjectKey{Namespace: namespace, Name: ref.Name})
}

// Missing reports whether there is no object that a reference names, nor could be: the kind may not be installed at all.
// Before something is done that rests on it, ask a Resolver that reads from the API server: a cache does not show yet
// what was made a moment ago.
func (r *Resolver) Missing(ctx context.Context, ref clusterv1.ContractVersionedObjectReference, namespace string) (bool, error) {
	_, err := r.Get(ctx, ref, namespace)
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, ErrKindNotInstalled):
		return true, nil
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return true, nil
	}
	// Also a path that is not served, which says nothing of what is stored.
	return false, err
}

func (r *Resolver) get(ctx context.Context, kind Kind, key client.ObjectKey) (*Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GroupVersionKind)
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, r.listings.patience(kind.GroupVersionKind, began))
	defer cancel()
	err := r.reader.Get(bounded, key, u, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsTimeout(err) && bounded.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("get %s %s: %w", kind.Kind, key, r.notListable(ctx, kind.GroupVersionKind, began))
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("get %s %s: %w", kind.Kind, key, err)
	}
	r.listings.came(kind.GroupVersionKind)
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", kind.Kind, key, err)
	}
	return NewObject(u, kind.Contract), nil
}
