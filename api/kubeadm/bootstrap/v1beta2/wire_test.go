package v1beta2

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestWire_KeepsWhatDiffersFromUnset(t *testing.T) {
	t.Parallel()
	empty := ""
	tests := []struct {
		name string
		in   any
		want string
	}{
		{
			name: "no taints at all differ from kubeadm's own",
			in:   NodeRegistrationOptions{Taints: &[]corev1.Taint{}},
			want: `{"taints":[]}`,
		},
		{
			name: "unset taints are absent",
			in:   NodeRegistrationOptions{Name: "a"},
			want: `{"name":"a"}`,
		},
		{
			name: "a flag may have an empty value",
			in:   Arg{Name: "a", Value: &empty},
			want: `{"name":"a","value":""}`,
		},
		{
			name: "an empty control plane still asks for one",
			in:   JoinConfiguration{ControlPlane: &JoinControlPlane{}},
			want: `{"controlPlane":{}}`,
		},
		{
			name: "environment variables are written as a pod's",
			in:   EnvVar{EnvVar: corev1.EnvVar{Name: "a", Value: "b"}},
			want: `{"name":"a","value":"b"}`,
		},
		{
			name: "an empty object has neither spec nor status",
			in:   KubeadmConfig{},
			want: `{"metadata":{}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tt.in)
			if err != nil {
				t.Fatalf("marshal: %v", err)
			}
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestWire_ReadsEmptyTaintsAsSet(t *testing.T) {
	t.Parallel()
	var options NodeRegistrationOptions
	if err := json.Unmarshal([]byte(`{"taints":[]}`), &options); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	if options.Taints == nil || len(*options.Taints) != 0 {
		t.Errorf("got %v, want a list that is set and empty", options.Taints)
	}
}
