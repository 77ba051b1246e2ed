package apply

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ensure is Apply for an object that exists and an intent that is the same for most of an object's life, while others write the object all the
// time: it sends nothing where the observed object shows the whole intent and the intent is the one that was applied
// last. What was applied last is remembered; after a start nothing is, and then inPlace stands in: it says that the
// caller knows from elsewhere that this very intent was applied, such as from its owner's observedGeneration. Without
// either the intent is sent, since a field that it gave up shows nowhere else. The intent names no UID; Ensure adds the
// observed one, so that an object that was deleted meanwhile is not made again but a lost race.
func (a *Applier) Ensure(ctx context.Context, observed client.Object, intent Configuration, inPlace bool) (Result, error) {
	holds, body, err := a.holds(observed, intent, inPlace)
	if err != nil || holds {
		return Result{Skipped: holds}, err
	}
	target, err := identify(intent)
	if err != nil {
		return Result{}, err
	}
	hash := sha256.Sum256(body)
	if body, err = withUID(body, observed); err != nil {
		return Result{}, err
	}
	return a.deliver(ctx, observed, target, body, hash, "")
}

// EnsureObject is Ensure for an object of a kind that has no Go type.
func (a *Applier) EnsureObject(ctx context.Context, observed client.Object, intent *unstructured.Unstructured, inPlace bool) (Result, error) {
	return a.Ensure(ctx, observed, untyped{intent}, inPlace)
}

// HoldsObject reports whether EnsureObject would send nothing.
func (a *Applier) HoldsObject(observed client.Object, intent *unstructured.Unstructured, inPlace bool) (bool, error) {
	holds, _, err := a.holds(observed, untyped{intent}, inPlace)
	return holds, err
}

// AssumeObject is Assume for an object of a kind that has no Go type.
func (a *Applier) AssumeObject(obj client.Object, intent *unstructured.Unstructured) error {
	return a.Assume(obj, untyped{intent})
}

// Assume remembers that the intent is in place on the object, which somebody made so in another way.
func (a *Applier) Assume(obj client.Object, intent Configuration) error {
	body, err := json.Marshal(intent)
	if err != nil {
		return fmt.Errorf("encode intent for %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	a.seen.put(keyOf(obj, ""), obj.GetResourceVersion(), sha256.Sum256(body))
	return nil
}

// holds reports whether the intent is in place, and returns its encoding.
func (a *Applier) holds(observed client.Object, intent Configuration, inPlace bool) (bool, []byte, error) {
	body, err := json.Marshal(intent)
	if err != nil {
		return false, nil, fmt.Errorf("encode intent for %s: %w", client.ObjectKeyFromObject(observed), err)
	}
	hash := sha256.Sum256(body)
	key := keyOf(observed, "")
	last, known := a.seen.last(key)
	same := known && last.hash == hash
	if same && notNewer(observed.GetResourceVersion(), last.version) {
		return true, body, nil
	}
	if known && !same || !known && !inPlace {
		return false, body, nil
	}
	covered, err := covers(observed, body)
	if covered && err == nil {
		a.seen.put(key, observed.GetResourceVersion(), hash)
	}
	return covered, body, err
}

func withUID(intent []byte, observed client.Object) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(intent, &fields); err != nil {
		return nil, fmt.Errorf("decode intent for %s: %w", client.ObjectKeyFromObject(observed), err)
	}
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("intent for %s: %w", client.ObjectKeyFromObject(observed), errUnnamed)
	}
	metadata["uid"] = observed.GetUID()
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode intent for %s: %w", client.ObjectKeyFromObject(observed), err)
	}
	return body, nil
}

// covers reports whether the object has every value of the intent. In lists the object may have more elements.
func covers(observed client.Object, intent []byte) (bool, error) {
	raw, err := json.Marshal(observed)
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", client.ObjectKeyFromObject(observed), err)
	}
	var have, want map[string]any
	if err := json.Unmarshal(raw, &have); err != nil {
		return false, fmt.Errorf("decode %s: %w", client.ObjectKeyFromObject(observed), err)
	}
	if err := json.Unmarshal(intent, &want); err != nil {
		return false, fmt.Errorf("decode intent for %s: %w", client.ObjectKeyFromObject(observed), err)
	}
	// Objects read from a cache have no kind.
	delete(want, "apiVersion")
	delete(want, "kind")
	return within(want, have), nil
}

func within(want, have any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0 && have == nil
		}
		for k, v := range w {
			if !within(v, h[k]) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok {
			return len(w) == 0 && have == nil
		}
		for _, v := range w {
			if !slices.ContainsFunc(h, func(e any) bool { return within(v, e) }) {
				return false
			}
		}
		return true
	default:
		return want == have
	}
}
