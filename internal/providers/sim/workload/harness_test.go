package workload_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

// authority is a CA for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(tb testing.TB, name string) *authority {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return &authority{cert: cert, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue makes a certificate for both ends of TLS.
func (a *authority) issue(tb testing.TB, name string, groups ...string) (certPEM, keyPEM []byte) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// world is one served cluster with its CA.
type world struct {
	tb      testing.TB
	server  *workload.Server
	cluster *workload.Cluster
	ca      *authority
	config  workload.Config
}

func newWorld(tb testing.TB, change ...func(*workload.Config)) *world {
	tb.Helper()
	server, err := workload.NewServer(workload.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	w := &world{tb: tb, server: server, ca: newAuthority(tb, "kubernetes")}
	cert, key := w.ca.issue(tb, "kube-apiserver")
	w.config = workload.Config{
		Dir: tb.TempDir(), ListenAddr: "127.0.0.1:0", ServingCertPEM: cert, ServingKeyPEM: key, ClientCAPEM: w.ca.pem, Version: "v1.37.2",
	}
	for _, c := range change {
		c(&w.config)
	}
	w.open()
	tb.Cleanup(func() {
		if err := server.Close(); err != nil {
			tb.Errorf("close the server: %v", err)
		}
	})
	return w
}

func (w *world) open() {
	w.tb.Helper()
	var err error
	w.cluster, err = w.server.Open(types.NamespacedName{Namespace: "default", Name: "demo"}, w.config)
	if err != nil {
		w.tb.Fatal(err)
	}
}

// reopen closes the cluster and loads it again.
func (w *world) reopen() {
	w.tb.Helper()
	if err := w.cluster.Close(); err != nil {
		w.tb.Fatal(err)
	}
	w.open()
}

// as returns a client configuration for someone.
func (w *world) as(name string, groups ...string) *rest.Config {
	w.tb.Helper()
	cert, key := w.ca.issue(w.tb, name, groups...)
	return &rest.Config{
		Host: "https://" + w.cluster.Addr(), QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: w.ca.pem, CertData: cert, KeyData: key},
	}
}

func (w *world) admin() *rest.Config { return w.as("kubernetes-admin", "system:masters") }

func (w *world) clientset() *kubernetes.Clientset {
	w.tb.Helper()
	return clientset(w.tb, w.admin())
}

func clientset(tb testing.TB, cfg *rest.Config) *kubernetes.Clientset {
	tb.Helper()
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func must[T any](tb testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name, "node-role.kubernetes.io/control-plane": ""}},
		Spec:       corev1.NodeSpec{ProviderID: "sim://default/" + name},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeHostName, Address: name}},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: "v1.37.2", OSImage: "Simulated Linux", KernelVersion: "6.12.0", ContainerRuntimeVersion: "containerd://2.4.2",
			},
		},
	}
}

// pod is a running, ready pod.
func pod(namespace, name, nodeName string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{NodeName: nodeName, Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.244.0.5",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}},
		},
	}
}

func leaseOf(name string, holder *string) *coordinationv1.Lease {
	now := metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: holder, RenewTime: &now},
	}
}
