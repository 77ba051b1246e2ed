package manager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/config"
)

// kindsManager is the field manager of the CRDs and webhook configurations.
const kindsManager = "slipway-install"

// schemaHash is the annotation by which a start sees that a CRD is in place already.
const schemaHash = "slipway.dev/schema-hash"

// InstallKinds applies the CRDs of every kind and returns their number when the API server serves them all. A CRD that is
// in place is not written.
func InstallKinds(ctx context.Context, c client.WithWatch) (int, error) {
	crds, err := config.CRDs()
	if err != nil {
		return 0, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, crd := range crds {
		group.Go(func() error {
			if err := installKind(ctx, c, crd); err != nil {
				return fmt.Errorf("install CRD %s: %w", crd.Name, err)
			}
			return nil
		})
	}
	return len(crds), group.Wait()
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
	return waitEstablished(ctx, c, crd.Name)
}

func waitEstablished(ctx context.Context, c client.WithWatch, name string) error {
	w, err := c.Watch(ctx, &apiextensionsv1.CustomResourceDefinitionList{}, client.MatchingFields{"metadata.name": name})
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
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

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
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
