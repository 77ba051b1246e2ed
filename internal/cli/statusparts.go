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

// localPlane is what is known of the process of the plane on a state directory.
type localPlane struct {
	dir string
	// meant tells whether the context in use is that plane's: what is known of its process says nothing about another's.
	meant   bool
	running bool
	// pid is 0 when the process is not known, begun zero when nobody knows when it was started.
	pid   int
	begun time.Time
}

func (a *app) localPlane(dir string) localPlane {
	l := localPlane{dir: dir, meant: !a.usesAnother(dir)}
	if !l.meant {
		return l
	}
	l.pid, l.running = statedir.Running(dir)
	// A plane that begins is not known by its process id yet; what a dying one leaves is made anew by every start.
	path := statedir.CrashFile(dir)
	if l.pid != 0 {
		path = statedir.PIDFile(dir)
	}
	if info, err := os.Stat(path); err == nil {
		l.begun = info.ModTime()
	}
	return l
}

// starting tells whether the plane may become ready yet.
func (l localPlane) starting(now time.Time) bool {
	return l.running && !l.begun.IsZero() && now.Sub(l.begun) < otherStart
}

// planeStatus asks whether the management cluster is ready, and adds what is known of a local plane's process.
func (a *app) planeStatus(ctx context.Context, dir string) statusPart {
	p := statusPart{Name: partPlane, State: view.Ready}
	l := a.localPlane(dir)
	if err := a.readyz(ctx); err != nil {
		return a.notReady(p, l, err)
	}
	if !l.running {
		p.Message = a.where()
		return p
	}
	var facts []string
	if record, err := statedir.ReadRecord(dir); err == nil {
		facts = append(facts, record.Version)
	}
	if l.pid != 0 && !l.begun.IsZero() {
		facts = append(facts, "up "+humanAge(a.now().Sub(l.begun)))
	}
	if mib, ok := residentMiB(l.pid); ok {
		facts = append(facts, fmt.Sprintf("%d MiB", mib))
	}
	if free, err := statedir.FreeBytes(dir); err == nil && free < statedir.MinFree {
		p.State, p.Try = view.Stuck, "free some space on the disk of "+dir
		facts = append(facts, fmt.Sprintf("only %d MiB free on its disk", free>>20))
	}
	p.Message = strings.Join(facts, ", ")
	return p
}

// notReady says why the management cluster does not answer: the local plane is down or starting, or it is another's.
func (a *app) notReady(p statusPart, l localPlane, err error) statusPart {
	p.State, p.Message = view.Failed, a.shortError(err)
	switch {
	case !l.meant:
		p.Try = a.planeRemedy("see that its API server runs, or choose another with --context")
	case l.starting(a.now()):
		p.State, p.Message = view.Working, "starting"
		if l.pid != 0 {
			p.Message = fmt.Sprintf("process %d is starting, %s", l.pid, humanAge(a.now().Sub(l.begun)))
		}
	case l.running:
		p.Message = fmt.Sprintf("%s runs, but is not ready: %s", processText(l.pid), p.Message)
		p.Try = a.withStateDir("logs plane", l.dir)
	default:
		p.Message = "no plane runs on " + a.tilde(l.dir)
		p.Try = a.withStateDir("up --detach", l.dir)
	}
	return p
}

// usesAnother tells whether the context in use leads elsewhere than to the plane of a state directory. Without a context that
// is said to be there, that plane is meant.
func (a *app) usesAnother(dir string) bool {
	if a.aimed != (scopeFlags{}) {
		return false // Its state directory was named, and nothing else.
	}
	if _, err := a.restConfig(); err != nil {
		return a.flags.context != "" && a.flags.context != a.planeContextOf(dir)
	}
	return !a.usesPlane(dir)
}

// usesPlane tells whether the context in use is that of the plane on a state directory, wherever that listens now.
func (a *app) usesPlane(dir string) bool {
	if _, mark := a.contextMark(); mark == a.planeOwner(dir).mark {
		return true
	}
	config, err := a.restConfig()
	if err != nil {
		return false
	}
	admin, err := clientcmd.BuildConfigFromFlags("", statedir.AdminKubeconfig(dir))
	return err == nil && admin.Host == config.Host
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
