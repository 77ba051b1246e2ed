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
	body, err := json.Marshal(intent)
	if err != nil {
		return Result{}, fmt.Errorf("encode intent for %s: %w", client.ObjectKeyFromObject(observed), err)
	}
	hash := sha256.Sum256(body)
	key := keyOf(observed, "")
	last, known := a.seen.last(key)
	if known && last.hash == hash && notNewer(observed.GetResourceVersion(), last.version) {
		return Result{Skipped: true}, nil
	}
	if known && last.hash == hash || !known && inPlace {
		covered, err := covers(observed, body)
		if err != nil {
			return Result{}, err
		}
		if covered {
			a.seen.put(key, observed.GetResourceVersion(), hash)
			return Result{Skipped: true}, nil
		}
	}
	target, err := identify(intent)
	if err != nil {
		return Result{}, err
	}
	if body, err = withUID(body, observed); err != nil {
		return Result{}, err
	}
	return a.deliver(ctx, observed, target, body, hash, "")
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

// EnsureObject is Ensure for an object of a kind that has no Go type.
func (a *Applier) EnsureObject(ctx context.Context, observed client.Object, intent *unstructured.Unstructured, inPlace bool) (Result, error) {
	return a.Ensure(ctx, observed, untyped{intent}, inPlace)
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
