package cli

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/progress"
	"slipway.dev/slipway/internal/view"
)

// watchTree shows a cluster's tree until the user stops it or the cluster is gone.
func (a *app) watchTree(ctx context.Context, key types.NamespacedName, opts view.TreeOptions) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	w := &waiter{app: a, goal: goal{key: key, verb: "watch cluster " + key.Name}, report: progress.New(a.out, a.env.Now)}
	look := func(o observation) bool {
		switch {
		case apierrors.IsNotFound(o.err) && w.last == nil:
			w.result = a.noCluster(ctx, c, key, o.err)
			return true
		case apierrors.IsNotFound(o.err):
			w.report.Close()
			a.say("Cluster %s is gone.", key.Name)
			return true
		case o.err != nil:
			w.cannotLook(o.err)
			return false
		}
		w.seesAgain()
		w.last = o.snapshot
		tree := o.snapshot.Tree(opts, a.now())
		switch {
		case a.flags.output == outputJSONL:
			w.tell(tree)
		case w.report.Live():
			w.report.Show(treeLines(tree, a.now(), a.out.Columns()))
		default:
			w.changesOf(tree)
		}
		return false
	}
	a.observe(ctx, c, key, opts.All, look, w.tellOpen)
	w.report.Keep()
	if w.result != nil || ctx.Err() == nil {
		return w.result
	}
	return interrupted()
}
