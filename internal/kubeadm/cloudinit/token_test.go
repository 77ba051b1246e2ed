package cloudinit_test

import (
	"testing"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
)

func TestJoinToken_IsFoundInTemplatesToo(t *testing.T) {
	t.Parallel()
	const token = "abcdef.0123456789abcdef"
	join := "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\nnodeRegistration:\n  name: '{{ ds.meta_data.local_hostname }}'\n" +
		"discovery:\n  bootstrapToken:\n    token: " + token + "\n"
	for _, tc := range []struct {
		name, kubeadm, want string
		phase               cloudinit.Phase
		commands            []string
	}{
		{"plain", "discovery: {bootstrapToken: {token: " + token + "}}", token, cloudinit.Join, nil},
		{"a template with strays", join, token, cloudinit.Join, []string{"echo '{% if x %}{{ x }}{% endif %}' \"${#array[@]}\"", "- '{{json .}}'"}},
		{"discovery by a file", "discovery: {file: {kubeConfigPath: /x}}", "", cloudinit.Join, nil},
		{"the start of a control plane", "bootstrapTokens: [{token: " + token + "}]", "", cloudinit.Init, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			data := write(t, cloudinit.Input{Phase: tc.phase, Kubeadm: []byte(tc.kubeadm), Spec: &bootstrapv1.KubeadmConfigSpec{PreKubeadmCommands: tc.commands}})
			if got := cloudinit.JoinToken(data); got != tc.want {
				t.Errorf("found %q in\n%s", got, data)
			}
		})
	}
	if got := cloudinit.JoinToken([]byte("no: [yaml")); got != "" {
		t.Errorf("found %q in nothing", got)
	}
}
