package cli

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/dynamic"

	"slipway.dev/slipway/internal/progress"
)

func humanAge(d time.Duration) string { return duration.HumanDuration(d) }

// watchTable prints any kind's table and goes on: on a terminal it is redrawn, elsewhere changed rows are printed.
func (a *app) watchTable(ctx context.Context, o *objects, target getTarget, opts getOptions) error {
	r, err := o.resource(a.namespace())
	if err != nil {
		return err
	}
	w := follow(ctx, r, opts.selector)
	defer w.stop()
	report, printed := progress.New(a.out, a.env.Now), map[string]string{}
	for {
		table, err := a.serverTable(ctx, o, target, opts)
		switch {
		case ctx.Err() != nil:
			return interrupted()
		case err != nil:
			return err
		}
		if a.flags.output == outputJSONL {
			err = a.printChangedObjects(table, printed)
		} else {
			a.showTable(report, table, opts)
		}
		if err != nil {
			return err
		}
		if err := w.next(ctx); err != nil {
			return err
		}
	}
}

// follow notes the changes of a kind's objects until it is stopped, watching anew whenever the watch ends.
func follow(ctx context.Context, r dynamic.ResourceInterface, selector string) *changes {
	w := &changes{signal: make(chan struct{}, 1)}
	following, stop := context.WithCancel(ctx)
	w.cancel = stop
	w.all.Go(func() {
		for following.Err() == nil {
			watcher, err := r.Watch(following, metav1.ListOptions{LabelSelector: selector})
			if err == nil {
				w.drain(following, watcher)
			}
			pause(following, rewatch)
			w.note()
		}
	})
	return w
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

// next waits for the next change, and for those that come right after it.
func (c *changes) next(ctx context.Context) error {
	select {
	case <-c.signal:
		pause(ctx, gather)
		return nil
	case <-ctx.Done():
		return interrupted()
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
