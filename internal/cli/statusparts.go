package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/statedir"
	"slipway.dev/slipway/internal/view"
)

// planeStatus asks whether the management cluster is ready, and adds what is known of a local plane's process.
func (a *app) planeStatus(ctx context.Context, dir string) statusPart {
	p := statusPart{Name: "plane", State: view.Ready}
	pid, local := statedir.Running(dir)
	if err := a.readyz(ctx); err != nil {
		return a.notReady(p, dir, pid, local, err)
	}
	var facts []string
	if local && a.usesPlane(dir) {
		if record, err := statedir.ReadRecord(dir); err == nil {
			facts = append(facts, record.Version)
		}
		if begun, ok := processStart(pid); ok {
			facts = append(facts, "up "+humanAge(a.now().Sub(begun)))
		}
		if mib, ok := residentMiB(pid); ok {
			facts = append(facts, fmt.Sprintf("%d MiB", mib))
		}
		if free, err := statedir.FreeBytes(dir); err == nil && free < statedir.MinFree {
			p.State, p.Try = view.Stuck, "free some space on the disk of "+dir
			facts = append(facts, fmt.Sprintf("only %d MiB free on its disk", free>>20))
		}
	} else {
		facts = append(facts, a.where())
	}
	p.Message = strings.Join(facts, ", ")
	return p
}

// notReady says why the management cluster does not answer: the local plane is down or starting, or it is another's.
func (a *app) notReady(p statusPart, dir string, pid int, local bool, err error) statusPart {
	p.State, p.Message, p.Try = view.Failed, a.shortError(err), a.withStateDir("up --detach", dir)
	if other, known := a.planeOfContext(); known && a.usesAnother(dir) {
		p.Try = a.withStateDir("up --detach", other)
	}
	begun, ok := processStart(pid)
	switch {
	case local && (!ok || a.now().Sub(begun) < otherStart):
		p.State, p.Message, p.Try = view.Working, "starting", ""
		if ok {
			p.Message = fmt.Sprintf("process %d is starting, %s", pid, humanAge(a.now().Sub(begun)))
		}
	case local:
		p.Message = fmt.Sprintf("process %d runs, but is not ready: %s", pid, p.Message)
		p.Try = a.withStateDir("logs plane", dir)
	case !a.usesAnother(dir):
		p.Message = "no plane runs on " + a.tilde(dir)
	}
	return p
}

// usesAnother tells whether the context in use leads elsewhere than to the plane of a state directory.
func (a *app) usesAnother(dir string) bool {
	_, err := a.restConfig()
	return err == nil && !a.usesPlane(dir)
}

// usesPlane tells whether the context in use is that of the plane on a state directory.
func (a *app) usesPlane(dir string) bool {
	config, err := a.restConfig()
	if err != nil {
		return false
	}
	admin, err := clientcmd.BuildConfigFromFlags("", statedir.AdminKubeconfig(dir))
	return err == nil && admin.Host == config.Host
}

// processStart is when a process was started, from the age of its entry in /proc.
func processStart(pid int) (time.Time, bool) {
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

func (a *app) readyz(ctx context.Context) error {
	config, err := a.restConfig()
	if err != nil {
		return err
	}
	return askReadyz(ctx, config)
}

func askReadyz(ctx context.Context, config *rest.Config) error {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	return d.RESTClient().Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).Error()
}

// shortError is an error in one line for a status.
func (a *app) shortError(err error) string {
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known.Cause
	}
	if e := a.explainNetwork("", err); e != nil {
		return e.Cause
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// providerStatus names the infrastructure providers that are installed.
func (a *app) providerStatus() statusPart {
	p := statusPart{Name: "providers", State: view.Ready}
	config, err := a.restConfig()
	if err == nil {
		var d *discovery.DiscoveryClient
		if d, err = discovery.NewDiscoveryClientForConfig(config); err == nil {
			p.Message, err = providersFrom(d)
		}
	}
	if err != nil {
		p.State, p.Message = view.Unknown, a.shortError(err)
	}
	return p
}

// providersFrom finds providers by the kinds of their clusters, such as SimCluster.
func providersFrom(d discovery.DiscoveryInterface) (string, error) {
	lists, err := d.ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return "", err
	}
	var names []string
	for _, list := range lists {
		group, _, _ := strings.Cut(list.GroupVersion, "/")
		if group != infrav1.GroupVersion.Group {
			continue
		}
		for _, r := range list.APIResources {
			if name, found := strings.CutSuffix(r.Kind, "Cluster"); found && name != "" && !strings.Contains(r.Name, "/") {
				names = append(names, strings.ToLower(name))
			}
		}
	}
	slices.Sort(names)
	return firstOf(strings.Join(slices.Compact(names), ", "), none), nil
}

// clusterStatus counts the clusters by how they fare.
func (a *app) clusterStatus(ctx context.Context) statusPart {
	p := statusPart{Name: "clusters", State: view.Ready}
	c, err := a.client()
	if err != nil {
		return statusPart{Name: "clusters", State: view.Unknown, Message: a.shortError(err)}
	}
	clusters, err := view.List(ctx, c)
	if err != nil {
		return statusPart{Name: "clusters", State: view.Unknown, Message: a.shortError(err)}
	}
	counts := map[view.State]int{}
	var worst view.Summary
	for _, cluster := range clusters {
		s := cluster.Summarize(a.now())
		counts[s.State]++
		if view.Worse(p.State, s.State) != p.State {
			p.State, worst = s.State, s
		}
	}
	var texts []string
	for _, state := range view.States() {
		if n := counts[state]; n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, state))
		}
	}
	p.Message = firstOf(strings.Join(texts, ", "), "none yet")
	if p.State.NeedsHuman() {
		p.Try = a.try("tree %s -n %s", worst.Name, worst.Namespace)
	}
	return p
}

// credentialsWarn is how long before its end a certificate is worth a warning.
const credentialsWarn = 7 * 24 * time.Hour

// expiry is a certificate's end.
type expiry struct {
	at   time.Time
	what string
}

// credentialStatus finds the certificate that ends first.
func (a *app) credentialStatus(ctx context.Context) statusPart {
	c, err := a.client()
	if err != nil {
		return statusPart{Name: "credentials", State: view.Unknown, Message: a.shortError(err)}
	}
	var secrets corev1.SecretList
	err = c.List(ctx, &secrets, client.HasLabels{clusterv1.ClusterNameLabel}, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("type", string(clusterv1.ClusterSecretType))})
	if err != nil {
		return statusPart{Name: "credentials", State: view.Unknown, Message: a.shortError(err)}
	}
	var all []expiry
	for i := range secrets.Items {
		if e, ok := expiryOf(&secrets.Items[i]); ok {
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		return statusPart{Name: "credentials", State: view.Ready, Message: "no clusters' certificates yet"}
	}
	first := slices.MinFunc(all, func(x, y expiry) int { return x.at.Compare(y.at) })
	p := statusPart{Name: "credentials", State: view.Ready, Message: fmt.Sprintf("first expiry %s (%s)", first.at.UTC().Format(time.DateOnly), first.what)}
	if left := first.at.Sub(a.now()); left < credentialsWarn {
		p.State = view.Stuck
		p.Try = "see whether its control plane is held back: " + a.try("get clusters -A")
	}
	return p
}

func expiryOf(s *corev1.Secret) (expiry, bool) {
	cluster := s.Namespace + "/" + s.Labels[clusterv1.ClusterNameLabel]
	if text := s.Data[kubeconfig.SecretKey]; len(text) > 0 && strings.HasSuffix(s.Name, "-kubeconfig") {
		facts, err := kubeconfig.Read(text)
		return expiry{facts.Expires, "cluster " + cluster + ", kubeconfig"}, err == nil
	}
	if text := s.Data[certs.CertKey]; len(text) > 0 {
		at, err := certs.Expiry(text)
		return expiry{at, "cluster " + cluster + ", " + strings.TrimPrefix(s.Name, s.Labels[clusterv1.ClusterNameLabel]+"-")}, err == nil
	}
	return expiry{}, false
}
