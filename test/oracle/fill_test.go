package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	upstreambootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	upstreamv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/randfill"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// maxSchemaDepth bounds the schemas of variables, whose types contain themselves.
const maxSchemaDepth = 2

// fill gives an object of either side random values, the same ones for the same seed.
func fill(seed int64, object any) {
	newFiller(seed).Fill(object)
	thin(rand.New(rand.NewSource(seed)), reflect.ValueOf(object).Elem())
}

// thin empties some fields of a filled object, since the filler leaves few of them out: absent and empty are where two
// implementations part first.
func thin(rng *rand.Rand, v reflect.Value) {
	if _, opaque := v.Addr().Interface().(json.Marshaler); opaque {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				thinField(rng, field)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			thin(rng, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			thin(rng, v.Index(i))
		}
	}
}

func thinField(rng *rand.Rand, field reflect.Value) {
	_, opaque := field.Addr().Interface().(json.Marshaler)
	switch field.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		opaque = false
	case reflect.Struct:
	default:
		return
	}
	if !opaque && rng.Intn(6) == 0 {
		field.SetZero()
		return
	}
	thin(rng, field)
}

// newFiller returns a filler that knows the types with a form of their own.
func newFiller(seed int64) *randfill.Filler {
	depth := 0
	return randfill.NewWithSeed(seed).NilChance(0.35).NumElements(0, 3).Funcs(
		fillTypeMeta, fillObjectMeta, fillTime,
		func(i *intstr.IntOrString, c randfill.Continue) { i.RandFill(c) },
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
