package kubeadmcontrolplane

import (
	"cmp"
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/kubeadm"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/remote"
)

// readExpiries records when the certificates of Machines end, on their KubeadmConfigs: from there it gets into the
// Machine's status, and a rollout ahead of it can be asked for. It is done once a Machine, when nothing else is to be done.
func (r *Reconciler) readExpiries(ctx context.Context, s *scene) error {
	ctx, cancel := context.WithTimeout(ctx, insideTimeout)
	defer cancel()
	var errs []error
	for _, m := range s.machines {
		view, seen := s.inside.nodes[m.Name]
		if m.config == nil || m.deleting() || !seen || view.pods.APIServer.Health != remote.PodRunning || expiryKnown(m) || r.unread.Wait(m.UID, s.now) > 0 {
			continue
		}
		// Not again at once: one that hangs would hang each time, and what is recorded takes a moment to be seen.
		r.unread.Wrote(m.UID, s.now)
		end, err := r.Clusters.ServingCertificateExpiry(ctx, s.key, m.Status.NodeRef.Name, s.apiServerPort(m.config))
		if err != nil {
			// Nothing rests on it but a date, which a later look may tell.
			s.after = outcome.Sooner(s.after, unreadInterval)
			ctrl.LoggerFrom(ctx).V(1).Info("The API server's certificate could not be read", "machine", m.Name, "cause", err.Error())
			continue
		}
		_, err = apply.Metadata(ctx, r.Client, fieldManager, m.config.DeepCopy(), func(meta metav1.Object) {
			apply.SetAnnotation(meta, clusterv1.MachineCertificatesExpiryDateAnnotation, end.UTC().Format(time.RFC3339))
		})
		if err != nil {
			r.unread.Forget(m.UID)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func expiryKnown(m *machine) bool {
	_, onMachine := m.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]
	_, onConfig := m.config.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]
	return onMachine || onConfig
}

// apiServerPort is the port at which the machine's own API server listens: that of its KubeadmConfig, else the Cluster's, as
// its bootstrap data has it.
func (s *scene) apiServerPort(c *bootstrapv1.KubeadmConfig) int32 {
	port := c.Spec.InitConfiguration.LocalAPIEndpoint.BindPort
	if config.Joins(&c.Spec) {
		port = 0
		if join := c.Spec.JoinConfiguration.ControlPlane; join != nil {
			port = join.LocalAPIEndpoint.BindPort
		}
	}
	if every := s.cluster.Spec.ClusterNetwork.APIServerPort; port == 0 && every != nil {
		port = *every
	}
	return cmp.Or(port, kubeadm.DefaultPort)
}
