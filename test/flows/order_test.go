package flows_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/test/fleet"
)

// longestYouth is the longest that a cluster lives before its deletion begins; some are half made then, some are up.
const longestYouth = 10 * time.Second

func TestDelete_AnyOrderLeavesNothing(t *testing.T) {
	t.Parallel()
	orders := number(t, "SLIPWAY_DELETE_ORDERS", 10)
	// A few at a time: each cluster has an API endpoint and keys of its own.
	places := make(chan struct{}, 3)
	for i := range orders {
		t.Run(fmt.Sprintf("order %d", i+1), func(t *testing.T) {
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			deleteSomehow(t, i, dice(t, i+1))
		})
	}
}

func deleteSomehow(t *testing.T, i int, dice *rand.Rand) {
	t.Helper()
	c := clientOf(t, planetest.Shared(t))
	s := fleet.Spec{
		Namespace: fmt.Sprintf("order-%d", i+1), Name: "one", Version: version,
		ControlPlane: []int32{1, 1, 3}[dice.IntN(3)], Workers: 1 + dice.Int32N(2), ECDSA: true,
	}
	namespace(t, c, s.Namespace)
	if err := s.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	// Before it has its finalizer, a Cluster that is deleted takes nothing along: nothing is tied to it yet.
	eventually(t, "the Cluster is looked after", func(ctx context.Context) error { return lookedAfter(ctx, c, s) })
	pause(t.Context(), time.Duration(dice.Int64N(int64(longestYouth))))
	switch i % 4 {
	case 0:
		t.Log("delete the Cluster alone")
	case 1:
		t.Log("delete the namespace")
		if err := c.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}); err != nil {
			t.Fatal(err)
		}
	case 2:
		deleteSome(t, c, s.Namespace, dice, 1)
	default:
		deleteSome(t, c, s.Namespace, dice, dice.Float64())
		pause(t.Context(), time.Duration(dice.Int64N(int64(time.Second))))
	}
	if err := remove(t.Context(), c, s); err != nil {
		t.Fatal(err)
	}
	eventually(t, "gone", func(ctx context.Context) error {
		if i%4 == 1 {
			// The Namespace itself goes last.
			err := c.Get(ctx, types.NamespacedName{Name: s.Namespace}, &corev1.Namespace{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("the Namespace is there: %w", err)
			}
		}
		return gone(ctx, c, planetest.Shared(t).StateDir, s.Namespace)
	})
}

func lookedAfter(ctx context.Context, c client.Client, s fleet.Spec) error {
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, cluster); err != nil {
		return err
	}
	if !controllerutil.ContainsFinalizer(cluster, clusterv1.ClusterFinalizer) {
		return fmt.Errorf("cluster %s has no finalizer yet", s.Name)
	}
	return nil
}

// deleteSome deletes a share of all objects of a namespace, in random order and without waiting.
func deleteSome(t *testing.T, c client.Client, namespace string, dice *rand.Rand, share float64) {
	t.Helper()
	objs, err := objects(t.Context(), c, namespace)
	if err != nil {
		t.Fatal(err)
	}
	dice.Shuffle(len(objs), func(i, j int) { objs[i], objs[j] = objs[j], objs[i] })
	for _, obj := range objs[:int(math.Ceil(share*float64(len(objs))))] {
		t.Logf("delete %s %s", obj.GetKind(), obj.GetName())
		if err := client.IgnoreNotFound(c.Delete(t.Context(), &obj)); err != nil {
			t.Fatalf("delete %s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
}
