package manager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/config"
)

// kindsManager is the field manager of the CRDs and webhook configurations.
const kindsManager = "slipway-install"

// schemaHash is the annotation by which a start sees that a CRD is in place already.
const schemaHash = "slipway.dev/schema-hash"

// InstallKinds applies the CRDs of every kind and returns their number when the API server serves them all. A CRD that is
// in place is not written.
func InstallKinds(ctx context.Context, c client.WithWatch, served discovery.DiscoveryInterface) (int, error) {
	crds, err := config.CRDs()
	if err != nil {
		return 0, err
	}
	group, installing := errgroup.WithContext(ctx)
	for _, crd := range crds {
		group.Go(func() error {
			if err := installKind(installing, c, crd); err != nil {
				return fmt.Errorf("install CRD %s: %w", crd.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	if err := waitServed(ctx, served, crds); err != nil {
		return 0, err
	}
	return len(crds), waitWatchable(ctx, served.RESTClient(), crds)
}

// servedPoll is how often to look whether the API server tells of a kind: nothing makes an event of it.
const servedPoll = 20 * time.Millisecond

// waitServed returns when discovery tells of every kind. A CRD is Established before that, and a client that asks in between
// takes the kind for unknown.
func waitServed(ctx context.Context, served discovery.ServerResourcesInterface, crds []*apiextensionsv1.CustomResourceDefinition) error {
	missing := map[string][]string{}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if version.Served {
				gv := crd.Spec.Group + "/" + version.Name
				missing[gv] = append(missing[gv], crd.Spec.Names.Plural)
			}
		}
	}
	tick := time.NewTicker(servedPoll)
	defer tick.Stop()
	for {
		for gv, plurals := range missing {
			if serves(served, gv, plurals) {
				delete(missing, gv)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the API server serves %v: %w", slices.Sorted(maps.Keys(missing)), context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func serves(served discovery.ServerResourcesInterface, groupVersion string, plurals []string) bool {
	list, err := served.ServerResourcesForGroupVersion(groupVersion)
	if err != nil {
		return false // Not yet: the group itself is unknown until its first kind is served.
	}
	for _, plural := range plurals {
		if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == plural }) {
			return false
		}
	}
	return true
}

// waitWatchable returns when every kind can be watched. The API server makes a kind's cache at its first request and refuses
// watches until the cache is filled, a few milliseconds later; an informer that meets the refusal waits for a whole second.
func waitWatchable(ctx context.Context, c rest.Interface, crds []*apiextensionsv1.CustomResourceDefinition) error {
	group, waiting := errgroup.WithContext(ctx)
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if version.Served {
				path := "/apis/" + crd.Spec.Group + "/" + version.Name + "/" + crd.Spec.Names.Plural
				group.Go(func() error { return waitWatch(waiting, c, path) })
			}
		}
	}
	return group.Wait()
}

func waitWatch(ctx context.Context, c rest.Interface, path string) error {
	tick := time.NewTicker(servedPoll)
	defer tick.Stop()
	for {
		body, err := c.Get().AbsPath(path).Param("watch", "true").MaxRetries(0).Stream(ctx)
		if err == nil {
			return body.Close()
		}
		if !apierrors.IsTooManyRequests(err) {
			return fmt.Errorf("watch %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s can be watched: %w", path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func installKind(ctx context.Context, c client.WithWatch, crd *apiextensionsv1.CustomResourceDefinition) error {
	hash, err := hashOf(crd.Spec)
	if err != nil {
		return err
	}
	live := &apiextensionsv1.CustomResourceDefinition{}
	err = c.Get(ctx, client.ObjectKeyFromObject(crd), live)
	switch {
	case err == nil && live.Annotations[schemaHash] == hash && established(live):
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	metav1.SetMetaDataAnnotation(&crd.ObjectMeta, schemaHash, hash)
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return err
	}
	delete(u, "status")
	intent := &unstructured.Unstructured{Object: u}
	intent.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(intent), client.FieldOwner(kindsManager), client.ForceOwnership); err != nil {
		return err
	}
	if !halfInstalled(live) {
		return waitEstablished(ctx, c, crd.Name, nil)
	}
	return waitEstablished(ctx, c, crd.Name, func() error { return touch(ctx, c, crd.Name, hash) })
}

// halfInstalled tells whether the API server accepted a CRD's names and went no further. It establishes a CRD when it sees it
// change, never when it finds one at its start: what an API server left so when it was killed would wait for the next resync,
// minutes later (apiextensions-apiserver, crdHandler.updateCustomResourceDefinition).
func halfInstalled(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return is(crd, apiextensionsv1.NamesAccepted) && !established(crd)
}

// establishPatience is how long the API server may take to establish a half-installed CRD before it is touched again; twice
// as long each time, for every touch is work.
const establishPatience = 2 * time.Second

// waitEstablished returns when a CRD is established. Nudge, unless it is nil, is called at once and whenever that takes long.
func waitEstablished(ctx context.Context, c client.WithWatch, name string, nudge func() error) error {
	w, err := c.Watch(ctx, &apiextensionsv1.CustomResourceDefinitionList{}, client.MatchingFields{"metadata.name": name})
	if err != nil {
		return err
	}
	defer w.Stop()
	late, patience := time.NewTimer(0), establishPatience
	defer late.Stop()
	if nudge == nil {
		late.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			if err := nudge(); err != nil {
				return err
			}
			late.Reset(patience)
			patience *= 2
		case e, ok := <-w.ResultChan():
			if !ok || e.Type == watch.Error {
				return fmt.Errorf("watch ended early: %v", e.Object)
			}
			if crd, isCRD := e.Object.(*apiextensionsv1.CustomResourceDefinition); isCRD && established(crd) {
				return nil
			}
		}
	}
}

// touch changes a CRD and changes it back. A start that is killed in between leaves a hash by which the next one writes the
// CRD anew.
func touch(ctx context.Context, c client.Client, name, hash string) error {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, value := range []string{"", hash} {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, schemaHash, value)
		if err := c.Patch(ctx, crd, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(kindsManager)); err != nil {
			return fmt.Errorf("touch it, so that the API server establishes it: %w", err)
		}
	}
	return nil
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return is(crd, apiextensionsv1.Established)
}

func is(crd *apiextensionsv1.CustomResourceDefinition, condition apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == condition && c.Status == apiextensionsv1.ConditionTrue {
			return true
		}
	}
	return false
}

func hashOf(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8]), nil
}
