package kubeadm_test

import (
	"testing"

	"slipway.dev/slipway/internal/kubeadm"
)

func TestEndpoint_JoinsHostAndPortOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		host string
		port int32
		want string // empty: refused
	}{
		{"a name and a port", "lb.example.com", 443, "lb.example.com:443"},
		{"no port means kubeadm's", "lb.example.com", 0, "lb.example.com:6443"},
		{"an IPv6 address gets brackets", "fd00::10", 6443, "[fd00::10]:6443"},
		{"brackets are not doubled", "[fd00::10]", 6443, "[fd00::10]:6443"},
		{"a port in the host is used when there is no other", "lb.example.com:443", 0, "lb.example.com:443"},
		{"the same port twice is one port", "10.0.0.1:6443", 6443, "10.0.0.1:6443"},
		{"an IPv6 address with a port", "[fd00::10]:443", 0, "[fd00::10]:443"},
		{"two ports that differ", "lb.example.com:443", 6443, ""},
		{"a scheme", "https://lb.example.com", 6443, ""},
		{"a path", "lb.example.com/x", 6443, ""},
		{"a port that is no number", "lb.example.com:https", 0, ""},
		{"no host", "", 6443, ""},
		{"a port out of range", "lb", 70000, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := kubeadm.Endpoint(tc.host, tc.port)
			if (err == nil) != (tc.want != "") || got != tc.want {
				t.Errorf("Endpoint(%q, %d) = %q, %v; want %q", tc.host, tc.port, got, err, tc.want)
			}
		})
	}
}
