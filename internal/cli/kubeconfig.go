package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
)

// kubeconfigOptions are the flags of `slipway kubeconfig`.
type kubeconfigOptions struct {
	merge, choose bool
	ttl           time.Duration
	user          string
}

func kubeconfigCommand(a *app) *cobra.Command {
	opts := kubeconfigOptions{}
	cmd := &cobra.Command{
		Use:   "kubeconfig CLUSTER",
		Short: "Print a kubeconfig for a cluster, or merge it into yours",
		Long: `Print the kubeconfig of a cluster's administrator to standard output, or merge it into yours as context slipway-CLUSTER
(slipway-NAMESPACE-CLUSTER outside the namespace "default").

--ttl issues a client certificate of its own that ends by itself; --as puts a name on it, for the cluster's audit log.`,
		Example: `  slipway kubeconfig demo > demo.kubeconfig

  # As a context of your own kubeconfig, for the working day
  slipway kubeconfig demo --merge --ttl 8h --as "$USER"`,
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
			return a.kubeconfig(cmd.Context(), c, key, opts)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opts.merge, "merge", false, "write it into your kubeconfig instead of printing it")
	f.BoolVar(&opts.choose, "switch", false, "with --merge: make it the current context")
	f.DurationVar(&opts.ttl, "ttl", 0, "issue a client certificate that ends after this time, such as 8h")
	f.StringVar(&opts.user, "as", "", "with --ttl: the user's name on the certificate (default the administrator's)")
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
	if opts.ttl > 0 {
		if content, err = a.shortLived(ctx, c, key, content, opts); err != nil {
			return err
		}
	}
	if !opts.merge {
		_, err := a.out.Write(content)
		return err
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return fmt.Errorf("read the kubeconfig of cluster %s: %w", key.Name, err)
	}
	name := workloadContext(key)
	m, err := a.mergeContext(config, name, "", opts.choose)
	if err != nil {
		return err
	}
	if m.selected {
		a.say("Context %q written to %s and selected.", name, a.tilde(m.path))
		return nil
	}
	a.say("Context %q written to %s. Use it: kubectl --context %s get nodes", name, a.tilde(m.path), name)
	return nil
}

func (o kubeconfigOptions) check(cluster string) error {
	what := "cannot make a kubeconfig for cluster " + cluster
	switch {
	case o.ttl < 0:
		return fault.New(nil, what, "a certificate cannot have ended before it begins", "--ttl "+o.ttl.String(), "--ttl 8h")
	case o.user != "" && o.ttl == 0:
		return fault.New(nil, what, "a name needs a certificate of its own, and that an end", "--as "+o.user, "--ttl 8h --as "+o.user)
	case o.choose && !o.merge:
		return fault.New(nil, what, "what is only printed cannot be switched to", "--switch", "--merge --switch")
	}
	return nil
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
		return nil, a.noCluster(key, errCluster)
	}
	return nil, fault.New(err, "cannot read the kubeconfig of cluster "+key.Name, "it is not made yet: the control plane has no endpoint", "secret "+key.Namespace+"/"+kubeconfig.SecretName(key.Name),
		a.try("tree %s%s -w", key.Name, a.inNamespace(key.Namespace)))
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
		return nil, fmt.Errorf("read the CA of cluster %s: %w", key.Name, err)
	}
	pair, err := certs.FromSecret(secret, certs.ClusterCA, certs.ExternalEtcd{}, a.now())
	if err != nil {
		return nil, fault.New(err, "cannot issue a certificate for cluster "+key.Name, err.Error(), "secret "+name.String(), "leave out --ttl to get the administrator's kubeconfig")
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
