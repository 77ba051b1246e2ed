package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/terminal"
)

func TestTable_HasSevenColumnsUnlessItIsWide(t *testing.T) {
	t.Parallel()
	rows := map[string]string{
		"Name,Cluster,Node Name,Failure domain,Ready,Available,Up-to-date,Phase,Age,Version":        "NAME,CLUSTER,NODE-NAME,READY,PHASE,VERSION,AGE",
		"Name,Cluster,Desired,Current,Ready,Available,Up-to-date,Age,Version":                       "NAME,CLUSTER,DESIRED,READY,UP-TO-DATE,VERSION,AGE",
		"Name,Cluster,Available,Desired,Current,Ready,Available,Up-to-date,Phase,Age,Version":       "NAME,CLUSTER,DESIRED,READY,PHASE,VERSION,AGE",
		"Name,Cluster,Available,Desired,Current,Ready,Available,Up-to-date,Initialized,Age,Version": "NAME,CLUSTER,DESIRED,READY,UP-TO-DATE,VERSION,AGE",
		"Name,A,B,C,D,E,F,G,Age": "NAME,A,B,C,D,E,AGE",
		"Name,Age":               "NAME,AGE",
	}
	for names, want := range rows {
		var table metav1.Table
		for name := range strings.SplitSeq(names, ",") {
			table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name})
		}
		a, _ := testApp(t, look{})
		if diff := cmp.Diff(want, strings.Join(a.serverColumns(&table, getOptions{}).Header, ",")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", names, diff)
		}
		a.flags.allNamespaces = true
		if header := a.serverColumns(&table, getOptions{showLabels: true}).Header; len(header) > mostColumns {
			t.Errorf("with namespaces and labels: %s", header)
		}
		a.flags.output = outputWide
		if header := a.serverColumns(&table, getOptions{}).Header; len(header) != len(table.ColumnDefinitions)+1 {
			t.Errorf("-o wide leaves columns out: %s", header)
		}
	}
}

func TestTable_IsCutToATerminalButNotItsName(t *testing.T) {
	t.Parallel()
	table := terminal.Table{Header: []string{"NAME", "NODE"}, Rows: [][]terminal.Cell{{{Text: strings.Repeat("n", 30)}, {Text: strings.Repeat("x", 90)}}}}
	for width, want := range map[int]int{20: 30, 60: 60, 0: 123} {
		a, out := testApp(t, look{facts: terminal.Facts{TTY: width > 0, Width: width}})
		if err := table.WriteCut(a.out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		if got := len([]rune(lines[1])); got != want {
			t.Errorf("on %d columns the row has %d: %s", width, got, lines[1])
		}
	}
}
