package faults_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/providers/sim/faults"
)

func TestAt_CountsEachFaultFromItsOwnStart(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	lasting := func(name string, d time.Duration) faults.Fault {
		return faults.Fault{Name: name, Duration: &metav1.Duration{Duration: d}}
	}
	endless := faults.Fault{Name: "endless"}
	for _, row := range []struct {
		name   string
		faults []faults.Fault
		starts map[string]time.Time
		active []string
		next   time.Time
	}{
		{name: "none", faults: nil},
		{name: "without a start it has yet to begin", faults: []faults.Fault{endless, lasting("a", time.Hour)}},
		{name: "without an end it stays", faults: []faults.Fault{endless}, starts: map[string]time.Time{"endless": begin.Add(-1000 * time.Hour)}, active: []string{"endless"}},
		{
			name: "a start is not that of a longer or shorter name", faults: []faults.Fault{lasting("ZoneDown a", time.Hour)},
			starts: map[string]time.Time{"ZoneDown ab": begin, "ZoneDown": begin},
		},
		{
			name: "the first end is next", faults: []faults.Fault{lasting("a", time.Hour), lasting("b", time.Hour), endless},
			starts: map[string]time.Time{"a": begin.Add(-10 * time.Minute), "b": begin.Add(-20 * time.Minute), "endless": begin},
			active: []string{"a", "b", "endless"}, next: begin.Add(40 * time.Minute),
		},
		{
			name: "one is over and the other is not", faults: []faults.Fault{lasting("a", time.Hour), lasting("b", time.Hour)},
			starts: map[string]time.Time{"a": begin.Add(-time.Hour), "b": begin.Add(-59 * time.Minute)},
			active: []string{"b"}, next: begin.Add(time.Minute),
		},
	} {
		got := faults.At(row.faults, row.starts, begin)
		if !got.Next.Equal(row.next) {
			t.Errorf("%s: the next ends at %s, want %s", row.name, got.Next, row.next)
		}
		want := map[string]bool{}
		for _, name := range row.active {
			want[name] = true
		}
		for _, f := range row.faults {
			if got.Has(f.Name) != want[f.Name] {
				t.Errorf("%s: %s is at work: %t, want %t", row.name, f.Name, got.Has(f.Name), want[f.Name])
			}
		}
	}
}
