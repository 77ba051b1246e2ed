package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nearest are the candidates that somebody may have meant, the likeliest first; at most three.
func nearest(typed string, candidates []string) []string {
	typed = strings.ToLower(typed)
	bound := max(1, len(typed)/3)
	distances := map[string]int{}
	for _, c := range candidates {
		lower := strings.ToLower(c)
		d := distance(typed, lower)
		if len(typed) >= 3 && strings.HasPrefix(lower, typed) {
			d = 1
		}
		if d <= bound {
			distances[c] = d
		}
	}
	near := sortedKeys(distances)
	slices.SortStableFunc(near, func(a, b string) int { return distances[a] - distances[b] })
	return near[:min(len(near), 3)]
}

// distance counts the letters to insert, drop, replace or swap with their neighbour between two words.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}

// namesLike are the names of a kind in a namespace that are near to a name. It is a help beside an error, so that its own
// failure is not told.
func namesLike(ctx context.Context, r client.Reader, gvk schema.GroupVersionKind, namespace, typed string) []string {
	list := &metav1.PartialObjectMetadataList{}
	gvk.Kind += "List"
	list.SetGroupVersionKind(gvk)
	if err := r.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return nearest(typed, names)
}

// didYouMean ends a cause with the names that are near.
func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
}
