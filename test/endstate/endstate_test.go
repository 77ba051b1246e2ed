package endstate_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"slipway.dev/slipway/test/endstate"
)

// thing is an object in short.
type thing struct {
	kind, name, uid string
	second          int
	owner           *thing
	more            map[string]any
}

func (o thing) object() unstructured.Unstructured {
	meta := map[string]any{
		"name": o.name, "uid": o.uid, "resourceVersion": fmt.Sprint(len(o.name) + o.second),
		"creationTimestamp": time.Unix(int64(o.second), 0).UTC().Format(time.RFC3339),
	}
	if o.owner != nil {
		meta["ownerReferences"] = []any{map[string]any{"kind": o.owner.kind, "name": o.owner.name, "uid": o.owner.uid, "controller": true}}
	}
	content := map[string]any{"kind": o.kind, "metadata": meta}
	maps.Copy(content, o.more)
	return unstructured.Unstructured{Object: content}
}

func normalise(things ...thing) []string {
	objs := make([]unstructured.Unstructured, 0, len(things))
	for _, o := range things {
		objs = append(objs, o.object())
	}
	return endstate.Normalise(objs)
}

func spec(pairs ...any) map[string]any {
	fields := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i].(string)] = pairs[i+1]
	}
	return map[string]any{"spec": fields}
}

func TestNormalise_NumbersAndMasks(t *testing.T) {
	t.Parallel()
	md := thing{kind: "MachineDeployment", name: "md", uid: "u-md"}
	set := thing{kind: "MachineSet", name: "md-bcdfg", uid: "u-set", owner: &md, more: spec("hash", "17359-bcdfg")}
	older := thing{kind: "Machine", name: "md-bcdfg-zzzzz", uid: "u-old", second: 1, owner: &set, more: spec("v", "1", "ref", map[string]any{"name": "md-bcdfg-zzzzz"})}
	newer := thing{kind: "Machine", name: "md-bcdfg-22222", uid: "u-new", second: 2, owner: &set, more: spec("providerID", "sim://ns/c/md-bcdfg-22222")}
	sim := thing{kind: "SimMachine", name: older.name, uid: "u-sim", owner: &older}
	rows := map[string]struct {
		things []thing
		want   []string
	}{
		"numbered by creation, mentions renamed alike": {[]thing{newer, older, set, md, sim}, []string{
			`{"kind":"Machine","name":"md~1~1","owners":["MachineSet/md~1* of MachineDeployment/md*"],"spec":{"ref":{"name":"md~1~1"},"v":"1"}}`,
			`{"kind":"Machine","name":"md~1~2","owners":["MachineSet/md~1* of MachineDeployment/md*"],"spec":{"providerID":"sim://ns/c/md~1~2"}}`,
			`{"kind":"MachineDeployment","name":"md"}`,
			`{"kind":"MachineSet","name":"md~1","owners":["MachineDeployment/md*"],"spec":{"hash":"17359~1"}}`,
			`{"kind":"SimMachine","name":"md~1~1","owners":["Machine/md~1~1* of MachineSet/md~1* of MachineDeployment/md*"]}`,
		}},
		"a name that is given stays": {[]thing{{kind: "Secret", name: "md-proxy", uid: "s", owner: &md}, md}, []string{
			`{"kind":"MachineDeployment","name":"md"}`,
			`{"kind":"Secret","name":"md-proxy","owners":["MachineDeployment/md*"]}`,
		}},
		"an owner that is gone is told": {[]thing{set}, []string{
			`{"kind":"MachineSet","name":"md-bcdfg","owners":["MachineDeployment/md* (not there)"],"spec":{"hash":"17359-bcdfg"}}`,
		}},
		"of a secret its type and keys": {[]thing{{
			kind: "Secret", name: "ca", uid: "s",
			more: map[string]any{"type": "t", "data": map[string]any{"tls.key": "c2VjcmV0", "tls.crt": "cHVibGlj"}},
		}}, []string{`{"kind":"Secret","name":"ca","type":"t","keys":["tls.crt","tls.key"]}`}},
		"of conditions type, status and reason": {[]thing{{kind: "Cluster", name: "c", uid: "c", more: map[string]any{"status": map[string]any{
			"phase": "P", "conditions": []any{
				map[string]any{"type": "B", "status": "True", "reason": "Fine", "message": "m", "lastTransitionTime": "t"},
				map[string]any{"type": "A", "status": "False", "reason": "NotYet"},
			},
		}}}}, []string{`{"kind":"Cluster","name":"c","conditions":["A=False/NotYet","B=True/Fine"]}`}},
		"the counts of replicas, wherever they stand": {[]thing{{kind: "Cluster", name: "c", uid: "c", more: map[string]any{"status": map[string]any{
			"observedGeneration": int64(7), "replicas": int64(1), "workers": map[string]any{"readyReplicas": int64(2)},
			"versions": []any{map[string]any{"version": "v1", "replicas": int64(3)}},
		}}}}, []string{`{"kind":"Cluster","name":"c","counts":["status.replicas=1","status.versions.replicas=3","status.workers.readyReplicas=2"]}`}},
		"no port of an endpoint": {
			[]thing{{kind: "Cluster", name: "c", uid: "c", more: spec("controlPlaneEndpoint", map[string]any{"host": "127.0.0.1", "port": int64(4711)})}},
			[]string{`{"kind":"Cluster","name":"c","spec":{"controlPlaneEndpoint":{"host":"127.0.0.1"}}}`},
		},
		"no tokens, hashes, times, UIDs and endpoints": {
			[]thing{{kind: "KubeadmConfig", name: "c", uid: "c", more: spec(
				"token", "abcdef.0123456789abcdef", "ca", "sha256:"+strings.Repeat("0a", 32), "at", "2026-12-02T13:14:15Z",
				"uid", "0bf2a4ac-45d2-4a3e-9a51-8a5d5a5c7d1e", "endpoint", "127.0.0.1:6443",
			)}},
			[]string{`{"kind":"KubeadmConfig","name":"c","spec":{"at":"TIME","ca":"HASH","endpoint":"ENDPOINT","token":"TOKEN","uid":"UID"}}`},
		},
		"what is being deleted is not the same": {
			[]thing{{kind: "Machine", name: "m", uid: "m", more: map[string]any{"metadata": map[string]any{"name": "m", "deletionTimestamp": "2026-12-02T13:14:15Z"}}}},
			[]string{`{"kind":"Machine","name":"m","deleting":true}`},
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, normalise(row.things...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A fleet made again has other random names, UIDs, seconds and an other order of listing, but is the same.
func TestNormalise_IsTheSameForEveryRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(0, 5).Draw(t, "workers")
		run := func(name string) []string {
			suffixes := rapid.SliceOfNDistinct(rapid.StringMatching(`[bcdfghjklmnpqrstvwxz2456789]{5}`), workers+1, workers+1, rapid.ID[string]).Draw(t, name+" suffixes")
			md := thing{kind: "MachineDeployment", name: "md", uid: name + "md"}
			set := thing{kind: "MachineSet", name: "md-" + suffixes[0], uid: name + "set", owner: &md}
			things, second := []thing{md, set}, 0
			for i := range workers {
				second += rapid.IntRange(1, 3).Draw(t, name+" seconds")
				m := thing{kind: "Machine", name: set.name + "-" + suffixes[i+1], uid: fmt.Sprint(name, i), second: second, owner: &set, more: spec("n", int64(i))}
				sim := thing{kind: "SimMachine", name: m.name, uid: fmt.Sprint(name, "sim", i), second: second, owner: &m}
				things = append(things, m, sim)
			}
			return normalise(rapid.Permutation(things).Draw(t, name+" order")...)
		}
		first, second := run("first"), run("second")
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("two runs differ (-first +second):\n%s", diff)
		}
		if len(first) != 2+2*workers || len(slices.Compact(slices.Clone(first))) != len(first) {
			t.Fatalf("%d lines for %d workers: %v", len(first), workers, first)
		}
	})
}

func TestNormalise_TellsWhatDiffers(t *testing.T) {
	t.Parallel()
	md := thing{kind: "MachineDeployment", name: "md", uid: "md"}
	one := thing{kind: "MachineSet", name: "md-bcdfg", uid: "1", owner: &md, more: spec("replicas", int64(1))}
	same := one
	same.name, same.uid = "md-22222", "2"
	other := one
	other.more = spec("replicas", int64(2))
	base := normalise(md, one)
	if diff := cmp.Diff(base, normalise(md, same)); diff != "" {
		t.Errorf("another name and UID make a difference:\n%s", diff)
	}
	for name, things := range map[string][]thing{"another spec": {md, other}, "one more": {md, one, same}, "one less": {md}} {
		if cmp.Equal(base, normalise(things...)) {
			t.Errorf("%s makes no difference", name)
		}
	}
}
