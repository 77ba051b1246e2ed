package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/plan"
)

// createOptions are the flags of `slipway create cluster`.
type createOptions struct {
	waitOptions
	shape  clusterShape
	dryRun bool
}

func createCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create", Short: "Make a cluster",
		Example: `  slipway create cluster demo --provider sim --workers 3 --wait`,
		RunE:    oneBelow("say what to create: cluster"),
	}
	cmd.AddCommand(createClusterCommand(a))
	return cmd
}

func createClusterCommand(a *app) *cobra.Command {
	opts := createOptions{}
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Make a cluster",
		Long: `Make a cluster: six objects are applied, which you may as well keep in a file, see --dry-run -o yaml.
The command returns when they are stored; --wait stays until the cluster is Ready.`,
		Example: `  # Three control-plane machines and three workers
  slipway create cluster demo --provider sim --control-plane 3 --workers 3 --wait

  # See, keep and edit what would be sent
  slipway create cluster demo --workers 3 --dry-run -o yaml > demo.yaml`,
		Args: oneArg("the name of the cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.shape.Name, opts.shape.Namespace = args[0], a.oneNamespace()
			return a.createCluster(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.shape.Provider, "provider", providerSim, "infrastructure provider: sim")
	f.StringVar(&opts.shape.Version, "version", defaultVersion, "Kubernetes version")
	f.Int32Var(&opts.shape.ControlPlane, "control-plane", 1, "control-plane machines: 1, 3, 5 or 7")
	f.Int32Var(&opts.shape.Workers, "workers", 1, "worker machines")
	f.BoolVar(&opts.dryRun, "dry-run", false, "write nothing: the API server checks what would be sent, and -o yaml prints it")
	opts.waitOptions.flags(f, createTimeout)
	completeFlag(cmd, "provider", []string{providerSim + "\tsimulated machines, in the management plane's process"})
	completeFlag(cmd, "version", knownVersions())
	return cmd
}

func (a *app) createCluster(ctx context.Context, opts createOptions) error {
	if err := opts.shape.check(); err != nil {
		return err
	}
	opts.shape.Version = plan.NormalizeVersion(opts.shape.Version)
	c, err := a.client()
	if err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: opts.shape.Namespace, Name: opts.shape.Name}
	if err := a.refuseExisting(ctx, c, key); err != nil {
		return err
	}
	documents := opts.shape.documents()
	for _, d := range documents {
		if err := a.applyDocument(ctx, c, d, opts.dryRun); err != nil {
			return a.explainCreate(key, err)
		}
	}
	if opts.dryRun {
		return a.tellCreated(documents, true)
	}
	if err := a.tellCreated(documents, false); err != nil {
		return err
	}
	if !opts.wait {
		a.next("tree %s -w", key.Name)
		return nil
	}
	return a.awaitCreated(ctx, c, key, opts.waitOptions)
}

func (a *app) awaitCreated(ctx context.Context, c client.WithWatch, key types.NamespacedName, w waitOptions) error {
	err := a.await(ctx, c, goal{
		key: key, verb: "create cluster " + key.Name, done: "Cluster " + key.Name + " is Ready", reached: clusterReady, hopeless: neverReady,
		undo: "delete cluster " + key.Name,
	}, w)
	if err != nil {
		return err
	}
	a.next("kubeconfig %s --merge", key.Name)
	return nil
}

// refuseExisting keeps create from changing a cluster that is there.
func (a *app) refuseExisting(ctx context.Context, c client.Client, key types.NamespacedName) error {
	err := c.Get(ctx, key, &clusterv1.Cluster{})
	switch {
	case err == nil:
		return fault.New(nil, "cannot create cluster "+key.Name, "a cluster of that name exists", "namespace "+key.Namespace+", "+a.where(),
			fmt.Sprintf("choose another name; or look at that one: %s", a.try("tree %s", key.Name)))
	case apierrors.IsNotFound(err):
		return nil
	default:
		return err
	}
}

// applyDocument sends a document by server-side apply. With dryRun the API server checks it, webhooks included, and writes
// nothing.
func (a *app) applyDocument(ctx context.Context, c client.Client, d client.Object, dryRun bool) error {
	content, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode %s: %w", documentName(d), err)
	}
	opts := []client.PatchOption{client.FieldOwner(fieldManager)}
	if dryRun {
		opts = append(opts, client.DryRunAll)
	}
	answer := d.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	if err := c.Patch(ctx, answer, client.RawPatch(types.ApplyPatchType, content), opts...); err != nil {
		return fmt.Errorf("apply %s: %w", documentName(d), err)
	}
	return nil
}

// explainCreate keeps the API server's sentence, which says what to mend, and puts it under what the user asked for.
func (a *app) explainCreate(key types.NamespacedName, err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) {
		return fault.New(err, "cannot create cluster "+key.Name, serverSentence(err), "namespace "+key.Namespace+", "+a.where(), a.try("create cluster --help"))
	}
	if apierrors.IsNotFound(err) {
		return fault.New(err, "cannot create cluster "+key.Name, err.Error(), "namespace "+key.Namespace+", "+a.where(), "make the namespace first: "+a.kubectl("create namespace %s", key.Namespace))
	}
	return err
}

func documentName(d client.Object) string {
	return strings.ToLower(d.GetObjectKind().GroupVersionKind().Kind) + "/" + d.GetName()
}

// tellCreated prints a line for every object, or what a dry run would have sent.
func (a *app) tellCreated(documents []client.Object, dryRun bool) error {
	if dryRun && a.structured() {
		return a.printDocuments(documents)
	}
	for _, d := range documents {
		if err := a.mutated(strings.ToLower(d.GetObjectKind().GroupVersionKind().Kind), d.GetName(), "created", dryRun); err != nil {
			return err
		}
	}
	return a.printChanges()
}

// printDocuments prints what would be sent: YAML documents, or a List as JSON.
func (a *app) printDocuments(documents []client.Object) error {
	if a.flags.output == outputJSON {
		return a.printStructured(struct {
			typeMeta
			Items []client.Object `json:"items"`
		}{typeMeta{"v1", "List"}, documents})
	}
	for i, d := range documents {
		content, err := yaml.Marshal(d)
		if err != nil {
			return fmt.Errorf("encode %s: %w", documentName(d), err)
		}
		if i > 0 {
			fmt.Fprintln(a.out, "---")
		}
		if _, err := a.out.Write(content); err != nil {
			return err
		}
	}
	return nil
}
