package etcd_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"

	"slipway.dev/slipway/internal/providers/sim/etcd"
	"slipway.dev/slipway/internal/providers/sim/workload"
)

func pemOf(tb testing.TB, c *tls.Certificate) (cert, key []byte) {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// TestEtcd_IsReachedThroughItsPodsPort goes the way of the control plane's controller: API server, port-forward, TLS, etcd's client; and
// the membership lies in the cluster's own file.
func TestEtcd_IsReachedThroughItsPodsPort(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server, err := workload.NewServer(workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	ca := pair(t, "kubernetes", nil)
	caPEM, _ := pemOf(t, ca)
	serving, servingKey := pemOf(t, pair(t, "localhost", ca))
	var members *etcd.Cluster
	cfg := workload.Config{
		Dir: t.TempDir(), ListenAddr: "127.0.0.1:0", ServingCertPEM: serving, ServingKeyPEM: servingKey, ClientCAPEM: caPEM, Version: "v1.37.2",
		Hooks: workload.Hooks{PodDial: func(ctx context.Context, p *corev1.Pod, port int32) (net.Conn, error) {
			if port != 2379 {
				return nil, fmt.Errorf("port %d: %w", port, etcd.ErrRefused)
			}
			return members.Dial(ctx, p.Spec.NodeName)
		}},
	}
	cluster, err := server.Open(types.NamespacedName{Name: "demo"}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	members, err = f.server.Open(etcd.Config{
		Storage: cluster.Store(), ClientCAs: f.pool,
		Certificate: func(member string) (*tls.Certificate, error) { return pair(t, member, f.ca), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := members.Bootstrap("cp-1", []string{"https://10.0.0.1:2380"}, []string{"https://10.0.0.1:2379"}, "3.6.5"); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "etcd-cp-1"},
		Spec:       corev1.PodSpec{NodeName: "cp-1", Containers: []corev1.Container{{Name: "etcd", Image: "etcd"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	admin := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "admin"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "localhost"}},
	}
	if _, err := cluster.Store().Put(pod, admin); err != nil {
		t.Fatal(err)
	}
	addr := forwardTo(t, cluster.Addr(), ca, caPEM)
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"https://" + addr}, Logger: zap.NewNop(), DialTimeout: 10 * time.Second,
		TLS: &tls.Config{
			RootCAs: f.pool, ServerName: "cp-1", MinVersion: tls.VersionTLS12,
			Certificates: []tls.Certificate{*pair(t, "kube-apiserver-etcd-client", f.ca)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }() // the test is over
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	list, err := client.MemberList(ctx)
	if err != nil || len(list.Members) != 1 || list.Members[0].Name != "cp-1" {
		t.Fatalf("members %v, %v", list, err)
	}
	if _, err := client.MemberAddAsLearner(ctx, []string{"https://10.0.0.2:2380"}); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Close(); err != nil {
		t.Fatal(err)
	}
	if cluster, err = server.Open(types.NamespacedName{Name: "demo"}, cfg); err != nil {
		t.Fatal(err)
	}
	again, err := f.server.Open(etcd.Config{Storage: cluster.Store()})
	if err != nil {
		t.Fatal(err)
	}
	if got := again.State(); len(got.Members) != 2 || !got.Members[1].Learner {
		t.Errorf("after a restart: %+v", got)
	}
}

// forwardTo runs client-go's port-forwarder to the etcd pod and returns its local address.
func forwardTo(t *testing.T, host string, ca *tls.Certificate, caPEM []byte) string {
	t.Helper()
	cert, key := pemOf(t, pair(t, "localhost", ca))
	target := &url.URL{Scheme: "https", Host: host, Path: "/api/v1/namespaces/kube-system/pods/etcd-cp-1/portforward"}
	dialer, err := portforward.NewSPDYOverWebsocketDialer(target, &rest.Config{
		Host: host, TLSClientConfig: rest.TLSClientConfig{CAData: caPEM, CertData: cert, KeyData: key, ServerName: "localhost"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ready, stop := make(chan struct{}), make(chan struct{})
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:2379"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	failed := make(chan error, 1)
	running.Go(func() { failed <- f.ForwardPorts() })
	t.Cleanup(func() { close(stop); running.Wait() })
	select {
	case <-ready:
	case err := <-failed:
		t.Fatal(err)
	}
	ports, err := f.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("localhost:%d", ports[0].Local)
}
