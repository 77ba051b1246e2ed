package kubeadmcontrolplane

import (
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
		if m.config == nil || m.deleting() || !seen || view.pods.APIServer.Health != remote.PodRunning || expiryKnown(m) {
			continue
		}
		end, err := r.Clusters.ServingCertificateExpiry(ctx, s.key, m.Status.NodeRef.Name, apiServerPort(m.config))
		if err != nil {
			// Nothing rests on it but a date, which the next look may tell.
			ctrl.LoggerFrom(ctx).V(1).Info("The API server's certificate could not be read", "machine", m.Name, "cause", err.Error())
			continue
		}
		_, err = apply.Metadata(ctx, r.Client, fieldManager, m.config.DeepCopy(), func(meta metav1.Object) {
			apply.SetAnnotation(meta, clusterv1.MachineCertificatesExpiryDateAnnotation, end.UTC().Format(time.RFC3339))
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func expiryKnown(m *machine) bool {
	_, onMachine := m.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]
	_, onConfig := m.config.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]
	return onMachine || onConfig
}

// apiServerPort is the port at which the machine's own API server listens.
func apiServerPort(c *bootstrapv1.KubeadmConfig) int32 {
	port := c.Spec.InitConfiguration.LocalAPIEndpoint.BindPort
	if config.Joins(&c.Spec) {
		port = 0
		if join := c.Spec.JoinConfiguration.ControlPlane; join != nil {
			port = join.LocalAPIEndpoint.BindPort
		}
	}
	if port == 0 {
		return kubeadm.DefaultPort
	}
	return port
}
