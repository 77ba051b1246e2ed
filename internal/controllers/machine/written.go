package machine

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// written remembers this controller's last write of each Machine until the cache shows it. A status that is worked out
// from an older one would be written once more, with later times of transition. Forgetting it costs that write.
type written struct {
	mu       sync.Mutex // guards versions
	versions map[types.NamespacedName]string
}

func newWritten() *written { return &written{versions: map[types.NamespacedName]string{}} }

// note remembers that the object was written and has this resourceVersion now.
func (w *written) note(obj metav1.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions[nameOf(obj)] = obj.GetResourceVersion()
}

// lags reports whether the observed object is older than what was last written of it.
func (w *written) lags(observed metav1.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := nameOf(observed)
	last, ok := w.versions[key]
	if !ok {
		return false
	}
	if order, err := resourceversion.CompareResourceVersion(observed.GetResourceVersion(), last); err == nil && order < 0 {
		return true
	}
	delete(w.versions, key)
	return false
}

// forget drops an object that is gone.
func (w *written) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, key)
}

func nameOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
