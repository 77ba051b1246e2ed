package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deleteOptions are the flags of `slipway delete cluster`.
type deleteOptions struct {
	waitOptions
	confirm string
	dryRun  bool
}

func deleteCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete", Short: "Delete a cluster",
		Example: `  slipway delete cluster demo`,
		RunE:    oneBelow("say what to delete: cluster"),
	}
	cmd.AddCommand(deleteClusterCommand(a))
	return cmd
}

func deleteClusterCommand(a *app) *cobra.Command {
	opts := deleteOptions{}
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Delete a cluster with all its machines",
		Long: `Delete a cluster with all its machines and what is stored on them. You are asked to type the cluster's name;
scripts give it with --yes --confirm NAME. The context that ` + "`slipway kubeconfig --merge`" + ` wrote is removed.`,
		Example: `  slipway delete cluster demo

  # In a script
  slipway delete cluster demo --yes --confirm demo --wait`,
		Args:              oneArg("the name of a cluster"),
		ValidArgsFunction: a.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := a.clusterKey(args[0])
			if err != nil {
				return err
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			return a.deleteCluster(cmd.Context(), c, key, opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.confirm, "confirm", "", "with --yes: the name of the cluster")
	f.BoolVar(&opts.dryRun, "dry-run", false, "say what would be deleted, and delete nothing")
	opts.waitOptions.flags(f, otherTimeout)
	return cmd
}

func (a *app) deleteCluster(ctx context.Context, c client.WithWatch, key types.NamespacedName, opts deleteOptions) error {
	s, err := a.load(ctx, c, key, false)
	if err != nil {
		return err
	}
	a.tellDeletion(ctx, c, key, s)
	if opts.dryRun {
		return a.mutated(kindCluster, key.Name, "deleted", true)
	}
	if s.Object.DeletionTimestamp.IsZero() {
		if err := a.consentByName(ctx, toDelete(key.Name), opts.confirm); err != nil {
			return err
		}
	}
	// The precondition keeps a cluster of the same name that was made meanwhile.
	err = c.Delete(ctx, s.Object, client.Preconditions{UID: &s.Object.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete cluster %s: %w", key, err)
	}
	if err := a.mutated(kindCluster, key.Name, "deletion requested", false); err != nil {
		return err
	}
	if err := a.printChanges(); err != nil {
		return err
	}
	a.forgetContext(key)
	if !opts.wait {
		a.next("tree %s -w", key.Name)
		return nil
	}
	return a.await(ctx, c, goal{
		key: key, verb: "delete cluster " + key.Name, done: "Cluster " + key.Name + " is gone", reached: clusterGone, hopeless: neverGone,
	}, opts.waitOptions)
}

func machines(n int) string {
	if n == 1 {
		return "1 machine"
	}
	return fmt.Sprintf("%d machines", n)
}

func toDelete(cluster string) irreversible {
	command := "delete cluster " + cluster
	return irreversible{command, cluster, "what is lost cannot be brought back, so --yes alone is not enough: the name is needed too", command}
}

// forgetContext removes what `slipway kubeconfig --merge` wrote. The deletion goes on without it.
func (a *app) forgetContext(key types.NamespacedName) {
	owner, err := a.clusterOwner(key)
	if err != nil {
		a.say("warning: its context stays in your kubeconfig: %v", err)
		return
	}
	path := a.fileOf(owner, nil)
	removed, err := a.removeContext(owner)
	switch {
	case err != nil:
		a.say("warning: its context stays in %s: %v", a.tilde(path), err)
	case removed != "":
		a.say("Context %q removed from %s.", removed, a.tilde(path))
	}
}
