package remote

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodeLister reads the Nodes of one connected cluster from memory. What it returns is shared: copy before changing.
// Heartbeat times, image lists, managed fields and some bulky annotations are missing from these Nodes.
type NodeLister struct {
	store *nodeStore
}

// Nodes returns the Nodes of a connected cluster, or ErrNotConnected.
func (c *Clusters) Nodes(key types.NamespacedName) (NodeLister, error) {
	conn, err := c.connection(key)
	if err != nil {
		return NodeLister{}, err
	}
	return NodeLister{store: conn.nodes}, nil
}

// ByName returns the Node of that name, or ErrNodeNotFound.
func (l NodeLister) ByName(name string) (*corev1.Node, error) {
	l.store.mu.RLock()
	defer l.store.mu.RUnlock()
	node, ok := l.store.byName[name]
	if !ok {
		return nil, fmt.Errorf("node %s: %w", name, ErrNodeNotFound)
	}
	return node, nil
}

// ByProviderID returns the Node whose spec.providerID is exactly this one, ErrNodeNotFound when there is none, and
// ErrAmbiguousProviderID, with the Nodes' names, when there are several.
func (l NodeLister) ByProviderID(providerID string) (*corev1.Node, error) {
	l.store.mu.RLock()
	defer l.store.mu.RUnlock()
	names := l.store.byProviderID[providerID]
	switch {
	case providerID == "" || len(names) == 0:
		return nil, fmt.Errorf("node with provider ID %q: %w", providerID, ErrNodeNotFound)
	case len(names) > 1:
		return nil, fmt.Errorf("provider ID %q, Nodes %s: %w", providerID, strings.Join(names, ", "), ErrAmbiguousProviderID)
	}
	return l.store.byName[names[0]], nil
}

// List returns all Nodes, ordered by name.
func (l NodeLister) List() []*corev1.Node {
	l.store.mu.RLock()
	defer l.store.mu.RUnlock()
	nodes := make([]*corev1.Node, 0, len(l.store.byName))
	for _, node := range l.store.byName {
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes
}

// nodeStore holds the Nodes of one cluster, indexed by name and provider ID.
type nodeStore struct {
	changed func(name, providerID string)

	mu           sync.RWMutex // guards both maps; the Nodes in them are never changed
	byName       map[string]*corev1.Node
	byProviderID map[string][]string // names in order
}

func newNodeStore(changed func(name, providerID string)) *nodeStore {
	return &nodeStore{changed: changed, byName: map[string]*corev1.Node{}, byProviderID: map[string][]string{}}
}

// replace makes the store hold these Nodes and no others.
func (s *nodeStore) replace(nodes []*corev1.Node) {
	s.mu.Lock()
	gone := make(map[string]struct{}, len(s.byName))
	for name := range s.byName {
		gone[name] = struct{}{}
	}
	s.mu.Unlock()
	for _, node := range nodes {
		delete(gone, node.Name)
		s.put(node)
	}
	for name := range gone {
		s.remove(name)
	}
}

func (s *nodeStore) put(node *corev1.Node) {
	stripNode(node)
	s.mu.Lock()
	old := s.byName[node.Name]
	s.byName[node.Name] = node
	if old == nil || old.Spec.ProviderID != node.Spec.ProviderID {
		s.unindex(old)
		s.index(node)
	}
	s.mu.Unlock()
	s.tell(old, node)
}

func (s *nodeStore) remove(name string) {
	s.mu.Lock()
	old := s.byName[name]
	delete(s.byName, name)
	s.unindex(old)
	s.mu.Unlock()
	s.tell(old, nil)
}

func (s *nodeStore) index(node *corev1.Node) {
	id := node.Spec.ProviderID
	if id == "" {
		return
	}
	names := append(slices.Clone(s.byProviderID[id]), node.Name)
	slices.Sort(names)
	s.byProviderID[id] = names
}

func (s *nodeStore) unindex(node *corev1.Node) {
	if node == nil || node.Spec.ProviderID == "" {
		return
	}
	id := node.Spec.ProviderID
	names := slices.DeleteFunc(slices.Clone(s.byProviderID[id]), func(name string) bool { return name == node.Name })
	if len(names) == 0 {
		delete(s.byProviderID, id)
		return
	}
	s.byProviderID[id] = names
}

// tell makes the events for a Node that was old and is now; either may be nil.
func (s *nodeStore) tell(old, now *corev1.Node) {
	switch {
	case old == nil && now == nil:
	case now == nil:
		s.changed(old.Name, old.Spec.ProviderID)
	case old == nil:
		s.changed(now.Name, now.Spec.ProviderID)
	case old.ResourceVersion != now.ResourceVersion && !sameNode(old, now):
		s.changed(now.Name, now.Spec.ProviderID)
		if old.Spec.ProviderID != now.Spec.ProviderID {
			s.changed(now.Name, old.Spec.ProviderID)
		}
	}
}

// providerID is the provider ID of a Node, or empty.
func (s *nodeStore) providerID(name string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if node, ok := s.byName[name]; ok {
		return node.Spec.ProviderID
	}
	return ""
}

// sameNode tells whether two stripped Nodes differ in nothing but their resource version. A kubelet writes its Node
// every few minutes only to say that it is alive, which must wake nobody.
func sameNode(a, b *corev1.Node) bool {
	x, y := *a, *b
	x.ResourceVersion, y.ResourceVersion = "", ""
	return apiequality.Semantic.DeepEqual(&x, &y)
}

// stripNode removes what nobody here reads and what takes the most room.
func stripNode(node *corev1.Node) {
	node.ManagedFields = nil
	node.Status.Images = nil
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
	}
	for name := range node.Annotations {
		if bulkyAnnotation(name) {
			delete(node.Annotations, name)
		}
	}
}

func bulkyAnnotation(name string) bool {
	return name == corev1.LastAppliedConfigAnnotation ||
		strings.HasPrefix(name, "nfd.node.kubernetes.io/") || strings.HasPrefix(name, "k8s.ovn.org/")
}
