package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/watch"

	"slipway.dev/slipway/internal/progress"
)

func humanAge(d time.Duration) string { return duration.HumanDuration(d) }

// watchTable prints any kind's table and goes on: on a terminal it is redrawn, elsewhere changed rows are printed.
func (a *app) watchTable(ctx context.Context, o *objects, target getTarget, opts getOptions) error {
	r, err := o.resource(a.namespace())
	if err != nil {
		return err
	}
	w := follow(ctx, func(ctx context.Context) (watch.Interface, error) {
		return r.Watch(ctx, metav1.ListOptions{LabelSelector: opts.selector})
	})
	report, printed, there := progress.New(a.out, a.env.Now), map[string]string{}, listed{}
	return a.keepLooking(ctx, w, report, func() error {
		table, err := a.serverTable(ctx, o, target, opts)
		if err != nil {
			return err
		}
		var now []string
		for _, row := range table.Rows {
			m := metadataOf(row)
			now = append(now, m.Namespace+"/"+m.Name)
		}
		gone := there.gone(now)
		if a.flags.output == outputJSONL {
			return errors.Join(a.printChangedObjects(table, printed), a.printGone(o, gone, printed))
		}
		a.showTable(report, table, opts)
		for _, key := range gone {
			report.Change(key, strings.TrimPrefix(key, "/")+" deleted")
		}
		return nil
	})
}

// printGone prints a line of JSON for each object that was deleted: the object itself is not there to print.
func (a *app) printGone(o *objects, gone []string, printed map[string]string) error {
	for _, key := range gone {
		delete(printed, key)
		namespace, name, _ := strings.Cut(key, "/")
		if err := a.printLine(changeDocument{typeMeta: typeMeta{viewAPIVersion, "Change"}, Object: o.typeName(name), Namespace: namespace, Change: "deleted"}); err != nil {
			return err
		}
	}
	return nil
}

// showTable shows the table as it is now, and tells of each row that is not as it was.
func (a *app) showTable(report *progress.Reporter, table *metav1.Table, opts getOptions) {
	columns := a.serverColumns(table, opts)
	lines := columns.Lines(a.out)
	report.Show(lines)
	if !columns.NoHeader && len(lines) > 0 {
		lines = lines[1:]
	}
	for i, line := range lines {
		m := metadataOf(table.Rows[i])
		report.Change(m.Namespace+"/"+m.Name, a.out.Render(line, 0))
	}
}

// printChangedObjects prints each object whose version is not the one in printed, as one line of JSON.
func (a *app) printChangedObjects(table *metav1.Table, printed map[string]string) error {
	for _, row := range table.Rows {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(row.Object.Raw); err != nil {
			return fmt.Errorf("read an object of the table: %w", err)
		}
		key := object.GetNamespace() + "/" + object.GetName()
		if version := object.GetResourceVersion(); printed[key] != version {
			printed[key] = version
			object.SetManagedFields(nil)
			if err := a.printLine(object.Object); err != nil {
				return err
			}
		}
	}
	return nil
}
