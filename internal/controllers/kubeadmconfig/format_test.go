package kubeadmconfig

import (
	"strings"
	"testing"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/outcome"
)

// Admission refuses the format too; an object may have been stored before there was a webhook.
func TestFormat_OtherThanCloudConfigStalls(t *testing.T) {
	t.Parallel()
	for format, refused := range map[bootstrapv1.Format]bool{"": false, bootstrapv1.CloudConfig: false, bootstrapv1.Ignition: true} {
		err := checkFormat(&scene{config: &bootstrapv1.KubeadmConfig{Spec: bootstrapv1.KubeadmConfigSpec{Format: format}}})
		stall, ok := outcome.AsStall(err)
		if ok != refused || refused && !strings.Contains(stall.Message, "leave spec.format out") {
			t.Errorf("format %q: %v", format, err)
		}
	}
}
