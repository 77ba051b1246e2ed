package workload_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"slipway.dev/slipway/internal/providers/sim/workload"
)

// tokenConfig is a client with a bearer token; an empty one is anonymous.
func (w *world) tokenConfig(token string) *rest.Config {
	return &rest.Config{Host: "https://" + w.cluster.Addr(), BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: w.ca.pem}}
}

func bootstrapToken(expires time.Time) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abcdef"}, Type: corev1.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-authentication": []byte("true"),
			"auth-extra-groups": []byte("system:bootstrappers:kubeadm:default-node-token"), "expiration": []byte(expires.UTC().Format(time.RFC3339)),
		},
	}
}

// putRole grants a group something in kube-system.
func putRole(tb testing.TB, s *workload.Store, subject rbacv1.Subject, rule rbacv1.PolicyRule) {
	tb.Helper()
	meta := metav1.ObjectMeta{Namespace: "kube-system", Name: "r:" + subject.Name}
	_, err := s.Put(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: meta.Name}, Subjects: []rbacv1.Subject{subject}})
	if err != nil {
		tb.Fatal(err)
	}
}

func TestBootstrapToken_OpensWhatItsGroupsMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster.Store()
	putRole(t, s, rbacv1.Subject{Kind: "Group", Name: "system:bootstrappers:kubeadm:default-node-token"},
		rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"kubeadm-config"}})
	if _, err := s.Put(bootstrapToken(time.Now().Add(time.Hour)),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kubeadm-config"}}); err != nil {
		t.Fatal(err)
	}
	get := func(token, name string) error {
		_, err := clientset(t, w.tokenConfig(token)).CoreV1().ConfigMaps("kube-system").Get(t.Context(), name, metav1.GetOptions{})
		return err
	}
	const token = "abcdef.0123456789abcdef"
	if err := get(token, "kubeadm-config"); err != nil {
		t.Error(err)
	}
	if err := get(token, "other"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "system:bootstrap:abcdef" cannot get resource "configmaps"`) {
		t.Errorf("beyond its role: %v", err)
	}
	if err := get("abcdef.0123456789abcdeX", "kubeadm-config"); !apierrors.IsUnauthorized(err) {
		t.Errorf("with a wrong secret: %v", err)
	}
	if _, err := s.Put(bootstrapToken(time.Now().Add(-time.Second))); err != nil {
		t.Fatal(err)
	}
	if err := get(token, "kubeadm-config"); !apierrors.IsUnauthorized(err) {
		t.Errorf("after its expiry: %v", err)
	}
}

func TestAnonymous_SeesHealthAndVersionOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cluster.SetVersion("v1.36.5")
	c := clientset(t, w.tokenConfig(""))
	info, err := c.Discovery().ServerVersion()
	if err != nil || info.GitVersion != "v1.36.5" || info.Minor != "36" {
		t.Errorf("version %+v, %v", info, err)
	}
	for _, path := range []string{"/healthz", "/readyz", "/livez"} {
		if body, err := c.RESTClient().Get().AbsPath(path).DoRaw(t.Context()); err != nil || string(body) != "ok" {
			t.Errorf("%s: %q, %v", path, body, err)
		}
	}
	if _, err := c.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("secrets: %v", err)
	}
	if _, err := c.CoreV1().ConfigMaps("kube-public").Get(t.Context(), "cluster-info", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("cluster-info without its role: %v", err)
	}
}

func TestClientCertificate_NamesItsUserAndGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.cluster.Store().Put(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:cluster-admins"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "Group", Name: "kubeadm:cluster-admins"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	can := func(cfg *rest.Config) bool {
		t.Helper()
		r, err := clientset(t, cfg).AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Status.Allowed
	}
	if !can(w.as("kubernetes-admin", "kubeadm:cluster-admins")) || !can(w.admin()) {
		t.Error("an administrator may not delete nodes")
	}
	if can(w.as("bob")) {
		t.Error("bob may delete nodes")
	}
	impersonator := w.admin()
	impersonator.Impersonate = rest.ImpersonationConfig{UserName: "bob"}
	if can(impersonator) {
		t.Error("an administrator as bob may delete nodes")
	}
	stranger := w.admin()
	stranger.CertData, stranger.KeyData = newAuthority(t, "kubernetes").issue(t, "kubernetes-admin", "system:masters")
	if _, err := clientset(t, stranger).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a certificate of another CA: %v", err)
	}
}

func TestCertificates_AreRotatedForNewConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	next := newAuthority(t, "next")
	cert, key := next.issue(t, "kube-apiserver")
	if err := w.cluster.SetCertificates(cert, key, append(next.pem, w.ca.pem...)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.clientset().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the old CA still serves")
	}
	cfg := w.admin()
	cfg.CAData = next.pem
	if _, err := clientset(t, cfg).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

func TestCluster_WithoutCertificatesIsLoadedAndListensOnceItHasThem(t *testing.T) {
	t.Parallel()
	var cert, key []byte
	w := newWorld(t, func(c *workload.Config) {
		cert, key, c.ServingCertPEM, c.ServingKeyPEM = c.ServingCertPEM, c.ServingKeyPEM, nil, nil
	})
	if err := w.cluster.Store().SetValue("pki", []byte("CAs")); err != nil {
		t.Fatal(err)
	}
	if err := w.cluster.SetCertificates(cert, key, w.ca.pem); err != nil {
		t.Fatal(err)
	}
	if _, err := w.clientset().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

func TestUnservedKinds_AreNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.clientset()
	_, err := c.CoreV1().Services("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("services: %v", err)
	}
	if _, err := c.BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("jobs: %v", err)
	}
	if err := c.RESTClient().Post().AbsPath("/version").Do(t.Context()).Error(); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("POST /version: %v", err)
	}
}

func TestPlainRequest_IsServedOverBothHTTPVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, h2 := range []bool{true, false} {
		transport := &http.Transport{ForceAttemptHTTP2: h2, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it is the wire that is tested
		resp, err := (&http.Client{Transport: transport}).Get("https://" + w.cluster.Addr() + "/version")
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err != nil || resp.Body.Close() != nil || (resp.ProtoMajor == 2) != h2 {
			t.Errorf("HTTP/%d, wanted 2: %v (%v)", resp.ProtoMajor, h2, err)
		}
		transport.CloseIdleConnections()
	}
}
