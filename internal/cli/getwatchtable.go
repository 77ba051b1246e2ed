package cli

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"slipway.dev/slipway/internal/progress"
)

func humanAge(d time.Duration) string { return duration.HumanDuration(d) }

// watchTable prints any kind's table and goes on: on a terminal it is redrawn, elsewhere changed rows are printed.
func (a *app) watchTable(ctx context.Context, o *objects, target getTarget, opts getOptions) error {
	r, err := o.resource(a.namespace())
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	w := &changes{signal: changed}
	following, stop := context.WithCancel(ctx)
	w.cancel = stop
	w.all.Go(func() {
		for following.Err() == nil {
			watcher, err := r.Watch(following, metav1.ListOptions{LabelSelector: opts.selector})
			if err == nil {
				w.drain(following, watcher)
			}
			pause(following, rewatch)
			w.note()
		}
	})
	defer w.stop()
	report := progress.New(a.out, a.env.Now)
	for {
		table, err := a.serverTable(ctx, o, target, opts)
		switch {
		case ctx.Err() != nil:
			return interrupted()
		case err != nil:
			return err
		}
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
		select {
		case <-w.signal:
			pause(ctx, gather)
		case <-ctx.Done():
			return interrupted()
		}
	}
}
