package oracle

import (
	"encoding/json"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	upstreambootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	upstreamv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/randfill"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// maxSchemaDepth bounds the schemas of variables, whose types contain themselves.
const maxSchemaDepth = 2

// newFiller returns a filler that gives the same values for the same seed, on either side's types.
func newFiller(seed int64) *randfill.Filler {
	depth := 0
	return randfill.NewWithSeed(seed).NilChance(0.35).NumElements(0, 3).Funcs(
		fillTypeMeta, fillObjectMeta, fillTime,
		func(j *apiextensionsv1.JSON, c randfill.Continue) { j.Raw = randomJSON(c) },
		func(j *clusterv1.JSON, c randfill.Continue) { j.Raw = randomJSON(c) },
		func(s *upstreamv1.JSONSchemaProps, c randfill.Continue) {
			if depth++; depth <= maxSchemaDepth {
				c.FillNoCustom(s)
			}
			depth--
		},
		func(s *clusterv1.JSONSchemaProps, c randfill.Continue) {
			if depth++; depth <= maxSchemaDepth {
				c.FillNoCustom(s)
			}
			depth--
		},
		func(e *[]upstreambootstrapv1.EnvVar, c randfill.Continue) {
			// Upstream's types can tell an empty list from none, but its schema refuses an empty one.
			if c.FillNoCustom(e); len(*e) == 0 {
				*e = []upstreambootstrapv1.EnvVar{{}}
			}
		},
		func(t *upstreambootstrapv1.BootstrapTokenString, c randfill.Continue) {
			t.ID, t.Secret = randomToken(c)
		},
		func(t *bootstrapv1.BootstrapToken, c randfill.Continue) {
			c.FillNoCustom(t)
			id, secret := randomToken(c)
			t.Token = id + "." + secret
		},
	)
}

// fillTypeMeta leaves the type out: it is not part of what the two sides could see differently.
func fillTypeMeta(m *metav1.TypeMeta, _ randfill.Continue) { *m = metav1.TypeMeta{} }

func fillObjectMeta(m *metav1.ObjectMeta, c randfill.Continue) {
	*m = metav1.ObjectMeta{
		Name:            c.String(20),
		Namespace:       c.String(20),
		UID:             types.UID(c.String(20)),
		ResourceVersion: c.String(10),
		Generation:      c.Int63(),
	}
	c.Fill(&m.Labels)
	c.Fill(&m.Annotations)
	c.Fill(&m.Finalizers)
	c.Fill(&m.OwnerReferences)
	c.Fill(&m.CreationTimestamp)
	c.Fill(&m.DeletionTimestamp)
}

// fillTime gives times as the wire can carry them, in whole seconds, and now and then none.
func fillTime(t *metav1.Time, c randfill.Continue) {
	*t = metav1.Time{}
	if c.Intn(4) > 0 {
		*t = metav1.NewTime(time.Unix(c.Int63n(4_000_000_000), 0).UTC())
	}
}

func randomToken(c randfill.Continue) (id, secret string) {
	return fmt.Sprintf("%06x", c.Intn(1<<24)), fmt.Sprintf("%016x", c.Int63())
}

// randomJSON returns a JSON value of any sort, and now and then none at all.
func randomJSON(c randfill.Continue) []byte {
	var value any
	switch c.Intn(8) {
	case 0:
		return nil
	case 1:
		value = c.Bool()
	case 2:
		value = c.Int31()
	case 3:
		value = c.String(20)
	case 4:
		value = []any{c.String(5), c.Int31(), nil}
	case 5:
		value = map[string]any{"a": c.String(5), "b": map[string]any{"c": []any{}}}
	case 6:
		value = ""
	case 7:
		value = map[string]any{}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %#v: %v", value, err))
	}
	return raw
}
