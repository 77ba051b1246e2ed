package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ownerExtension names the note beside an entry of a kubeconfig that says which plane or cluster it is of. Names alone do not
// tell: a plane on .../demo and a cluster demo both want to be called slipway-demo.
const ownerExtension = "slipway.dev/owner"

// planeMark begins the mark of a plane; its state directory follows.
const planeMark = "plane "

// entryOwner is the plane or the cluster that an entry of the user's kubeconfig belongs to.
type entryOwner struct {
	// mark is the same for as long as the plane or the cluster exists, and for whatever replaces it.
	mark string
	// name is the wanted name of its context.
	name string
}

// planeOwner is the owner of the context of the plane on a state directory.
func (a *app) planeOwner(dir string) entryOwner {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return entryOwner{mark: planeMark + filepath.Clean(dir), name: a.planeContextOf(dir)}
}

// clusterOwner is the owner of a workload cluster's context. Clusters of one name on two planes are two.
func (a *app) clusterOwner(key types.NamespacedName) (entryOwner, error) {
	config, err := a.restConfig()
	if err != nil {
		return entryOwner{}, err
	}
	return entryOwner{mark: "cluster " + key.String() + " of " + config.Host, name: workloadContext(key)}, nil
}

// note is what ownerExtension holds.
type note struct {
	Owner string `json:"owner"`
}

func (o entryOwner) extension() runtime.Object {
	b, err := json.Marshal(note{o.mark})
	if err != nil {
		panic(err) // A struct of strings always encodes.
	}
	return &runtime.Unknown{Raw: b, ContentType: runtime.ContentTypeJSON}
}

// markOf is the owner's mark beside an entry; empty when it has none.
func markOf(cluster *clientcmdapi.Cluster) string {
	unknown, ok := cluster.Extensions[ownerExtension].(*runtime.Unknown)
	if !ok {
		return ""
	}
	var n note
	if json.Unmarshal(unknown.Raw, &n) != nil {
		return ""
	}
	return n.Owner
}

// owns tells whether a context is the owner's, together with the cluster and the user it leads to. An entry without a mark is
// the owner's when it leads to the same API server: addresses are one server's at a time, and a CA is one cluster's for ever.
func (o entryOwner) owns(c *clientcmdapi.Config, name string, now *clientcmdapi.Cluster) bool {
	context, cluster := c.Contexts[name], c.Clusters[name]
	if context == nil || cluster == nil || context.Cluster != name || context.AuthInfo != name {
		return false
	}
	if mark := markOf(cluster); mark != "" {
		return mark == o.mark
	}
	if now == nil {
		return false
	}
	ca := string(now.CertificateAuthorityData)
	return cluster.Server == now.Server || ca != "" && string(cluster.CertificateAuthorityData) == ca
}

// find is the name of the owner's context in a kubeconfig, or "" when it has none.
func (o entryOwner) find(c *clientcmdapi.Config, now *clientcmdapi.Cluster) string {
	if o.owns(c, o.name, now) {
		return o.name
	}
	for _, name := range slices.Sorted(maps.Keys(c.Contexts)) {
		if cluster := c.Clusters[name]; cluster != nil && markOf(cluster) == o.mark && o.owns(c, name, now) {
			return name
		}
	}
	return ""
}

// place is the name under which the owner's context is to stand: where it stands, else the wanted name if nothing of another
// has it, else that with a suffix of its own.
func (o entryOwner) place(c *clientcmdapi.Config, now *clientcmdapi.Cluster) string {
	if name := o.find(c, now); name != "" {
		return name
	}
	sum := sha256.Sum256([]byte(o.mark))
	suffix := hex.EncodeToString(sum[:])
	name := o.name
	for length := 6; taken(c, name) && length < len(suffix); length++ {
		name = o.name + "-" + suffix[:length]
	}
	return name
}

func taken(c *clientcmdapi.Config, name string) bool {
	return c.Contexts[name] != nil || c.Clusters[name] != nil || c.AuthInfos[name] != nil
}
