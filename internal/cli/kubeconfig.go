package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
)

// kubeconfigOptions are the flags of `slipway kubeconfig`.
type kubeconfigOptions struct {
	merge, choose bool
	admin         bool
	ttl           time.Duration
	user          string
}

// workday is how long a person's certificate lasts by default.
const workday = 8 * time.Hour

func kubeconfigCommand(a *app) *cobra.Command {
	opts := kubeconfigOptions{}
	cmd := &cobra.Command{
		Use:   "kubeconfig CLUSTER",
		Short: "Print a kubeconfig for a cluster, or merge it into yours",
		Long: `Print a kubeconfig for a cluster to standard output, or merge it into yours as context slipway-CLUSTER
(slipway-NAMESPACE-CLUSTER outside the namespace "default"; with a suffix where that name is another's).

It holds a client certificate of its own with all rights, which ends by itself after --ttl. --as puts a name on it, for the
cluster's audit log. --admin gives the credentials that the controllers use instead, which last for a year: for emergencies.
The cluster gets an event that says so.`,
		Example: `  slipway kubeconfig demo > demo.kubeconfig

  # As a context of your own kubeconfig, with your name in the cluster's audit log
  slipway kubeconfig demo --merge --as "$USER"

  # For a job that takes ten minutes
  slipway kubeconfig demo --ttl 10m > demo.kubeconfig`,
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
			if opts.admin && cmd.Flags().Changed("ttl") {
				return usage(cmd, "--admin gives credentials as they are: --ttl cannot end them sooner")
			}
			return a.kubeconfig(cmd.Context(), c, key, opts)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opts.merge, "merge", false, "write it into your kubeconfig instead of printing it")
	f.BoolVar(&opts.choose, "switch", false, "with --merge: make it the current context")
	f.DurationVar(&opts.ttl, "ttl", workday, "how long its client certificate lasts")
	f.StringVar(&opts.user, "as", "", "the user's name on the certificate (default the administrator's)")
	f.BoolVar(&opts.admin, "admin", false, "in emergencies: the administrator's own credentials, which --ttl does not end; leaves an event")
	return cmd
}

func (a *app) kubeconfig(ctx context.Context, c client.Client, key types.NamespacedName, opts kubeconfigOptions) error {
	if err := opts.check(key.Name); err != nil {
		return err
	}
	content, err := a.adminKubeconfig(ctx, c, key)
	if err != nil {
		return err
	}
	if opts.admin {
		a.noteAdmin(ctx, c, key)
	} else if content, err = a.shortLived(ctx, c, key, content, opts); err != nil {
		return err
	}
	if !opts.merge {
		return a.printKubeconfig(content)
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return fmt.Errorf("read the kubeconfig of cluster %s: %w", key.Name, err)
	}
	owner, err := a.clusterOwner(key)
	if err != nil {
		return err
	}
	m, err := a.mergeContext(config, owner, choose(opts.choose))
	if err != nil {
		return err
	}
	if m.name != owner.name {
		a.say("Context %q is another cluster's, and stays as it is.", owner.name)
	}
	if m.selected {
		a.say("Context %q written to %s and selected.", m.name, a.tilde(m.path))
	} else {
		a.say("Context %q written to %s. Use it: kubectl --context %s%s get nodes", m.name, a.tilde(m.path), m.name, a.kubectlFile())
	}
	return a.printDocument(contextDocument{typeMeta{viewAPIVersion, "Context"}, m.name, m.path, m.selected})
}

// contextDocument is a context that was written, as JSON.
type contextDocument struct {
	typeMeta
	Context    string `json:"context"`
	Kubeconfig string `json:"kubeconfig"`
	Selected   bool   `json:"selected"`
}

func (o kubeconfigOptions) check(cluster string) error {
	what := "cannot make a kubeconfig for cluster " + cluster
	switch {
	case o.ttl <= 0:
		return fault.New(nil, what, "a certificate must last for some time", "--ttl "+o.ttl.String(), "--ttl 8h")
	case o.user != "" && o.admin:
		return fault.New(nil, what, "the administrator's own credentials carry the administrator's name", "--admin --as "+o.user, "--as "+o.user)
	case o.choose && !o.merge:
		return fault.New(nil, what, "what is only printed cannot be switched to", "--switch", "--merge --switch")
	}
	return nil
}

// printKubeconfig prints it as it is stored, which is YAML, or as JSON.
func (a *app) printKubeconfig(content []byte) error {
	if a.flags.output != outputJSON {
		_, err := a.out.Write(content)
		return err
	}
	var document any
	if err := yaml.Unmarshal(content, &document); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	return a.printStructured(document)
}

// noteAdmin leaves an event at the cluster. In an emergency its loss is told, and stops nobody.
func (a *app) noteAdmin(ctx context.Context, c client.Client, key types.NamespacedName) {
	now := metav1.NewTime(a.now())
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: key.Namespace, GenerateName: key.Name + "."},
		InvolvedObject: corev1.ObjectReference{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Namespace: key.Namespace, Name: key.Name},
		Type:           corev1.EventTypeWarning, Reason: "AdminCredentialsIssued", Message: "The administrator's own credentials were handed out by slipway kubeconfig --admin",
		Source: corev1.EventSource{Component: fieldManager}, ReportingController: fieldManager, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	cluster := &clusterv1.Cluster{}
	err := c.Get(ctx, key, cluster)
	if err == nil {
		event.InvolvedObject.UID = cluster.UID
		err = c.Create(ctx, event)
	}
	if err != nil {
		a.say("warning: no event tells of this: %v", err)
	}
}

// workloadContext is the context under which a cluster is merged.
func workloadContext(key types.NamespacedName) string {
	if key.Namespace == defaultNamespace {
		return planeContext + "-" + key.Name
	}
	return planeContext + "-" + key.Namespace + "-" + key.Name
}

// adminKubeconfig reads the administrator's kubeconfig, or says why there is none yet.
func (a *app) adminKubeconfig(ctx context.Context, c client.Client, key types.NamespacedName) ([]byte, error) {
	content, err := secretValue(ctx, c, types.NamespacedName{Namespace: key.Namespace, Name: kubeconfig.SecretName(key.Name)}, kubeconfig.SecretKey)
	if !apierrors.IsNotFound(err) {
		return content, err
	}
	if errCluster := c.Get(ctx, key, &clusterv1.Cluster{}); apierrors.IsNotFound(errCluster) {
		return nil, a.noCluster(ctx, c, key, errCluster)
	}
	return nil, fault.New(err, "cannot read the kubeconfig of cluster "+key.Name, "it is not made yet: the control plane has no endpoint", "secret "+key.Namespace+"/"+kubeconfig.SecretName(key.Name),
		a.try("tree %s -w", key.Name))
}

func secretValue(ctx context.Context, c client.Client, key types.NamespacedName, field string) ([]byte, error) {
	secret := &corev1.Secret{}
	if err := c.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	if len(secret.Data[field]) == 0 {
		return nil, fault.New(nil, "cannot read secret "+key.String(), "it has no key "+field, key.String(), "put it there, or delete the secret to have it made again")
	}
	return secret.Data[field], nil
}

// shortLived issues a certificate of its own, signed by the cluster's CA.
func (a *app) shortLived(ctx context.Context, c client.Client, key types.NamespacedName, admin []byte, opts kubeconfigOptions) ([]byte, error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: certs.ClusterCA.SecretName(key.Name)}
	secret := &corev1.Secret{}
	if err := c.Get(ctx, name, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fault.New(err, "cannot issue a certificate for cluster "+key.Name, "its CA is not kept here", "secret "+name.String(), "--admin gives the administrator's own credentials")
		}
		return nil, fmt.Errorf("read the CA of cluster %s: %w", key.Name, err)
	}
	pair, err := certs.FromSecret(secret, certs.ClusterCA, certs.ExternalEtcd{}, a.now())
	if err != nil {
		return nil, fault.New(err, "cannot issue a certificate for cluster "+key.Name, err.Error(), "secret "+name.String(), "--admin gives the administrator's own credentials")
	}
	ca, err := certs.NewAuthority(pair)
	if err != nil {
		return nil, err
	}
	facts, err := kubeconfig.Read(admin)
	if err != nil {
		return nil, err
	}
	request := kubeconfig.Admin(key.Name, facts.Server, a.now())
	request.TTL = opts.ttl
	if opts.user != "" {
		request.User, request.CommonName = opts.user, opts.user
	}
	return kubeconfig.New(ca, request)
}
