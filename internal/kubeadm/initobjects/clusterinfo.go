package initobjects

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/token"
)

const (
	clusterInfoName       = "cluster-info"
	clusterInfoKubeconfig = "kubeconfig"
	signaturePrefix       = "jws-kubeconfig-"
)

// ClusterInfo returns the ConfigMap in kube-public by which a joining machine learns the API server's address and CA. It
// bears no signature yet; see Sign.
func ClusterInfo(server string, caPEM []byte) (*corev1.ConfigMap, error) {
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"": {Server: server, CertificateAuthorityData: caPEM}},
	})
	if err != nil {
		return nil, fmt.Errorf("make configmap cluster-info: %w", err)
	}
	return configMap(metav1.NamespacePublic, clusterInfoName, map[string]string{clusterInfoKubeconfig: string(text)}), nil
}

// Signed returns a copy of cluster-info that bears a signature for each of the tokens and no other.
func Signed(clusterInfo *corev1.ConfigMap, tokens ...token.Token) *corev1.ConfigMap {
	out := clusterInfo.DeepCopy()
	content := out.Data[clusterInfoKubeconfig]
	out.Data = map[string]string{clusterInfoKubeconfig: content}
	for _, t := range tokens {
		out.Data[signaturePrefix+t.ID] = signature(content, t)
	}
	return out
}

// signature is a JSON web signature (RFC 7515) by HMAC with SHA-256, its payload left out.
func signature(content string, t token.Token) string {
	// Marshalling a map of strings cannot go wrong, and sorts its keys.
	header, _ := json.Marshal(map[string]string{"alg": "HS256", "kid": t.ID}) //nolint:errchkjson // see above
	protected := base64.RawURLEncoding.EncodeToString(header)
	mac := hmac.New(sha256.New, []byte(t.Secret))
	mac.Write([]byte(protected + "." + base64.RawURLEncoding.EncodeToString([]byte(content))))
	return protected + ".." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Discovered is what a machine learns from cluster-info.
type Discovered struct {
	Server string
	CAPEM  []byte
}

// Discover reads cluster-info as kubeadm join does: it must be signed with the token, and its CA must be one of the
// pinned ones unless no pin is given.
func Discover(clusterInfo *corev1.ConfigMap, t token.Token, pins []string) (Discovered, error) {
	content, ok := clusterInfo.Data[clusterInfoKubeconfig]
	if !ok {
		return Discovered{}, errors.New("discover cluster: cluster-info has no kubeconfig")
	}
	have, ok := clusterInfo.Data[signaturePrefix+t.ID]
	if !ok {
		return Discovered{}, fmt.Errorf("discover cluster: cluster-info is not signed for token ID %q: the token has expired or never was", t.ID)
	}
	if !hmac.Equal([]byte(have), []byte(signature(content, t))) {
		return Discovered{}, fmt.Errorf("discover cluster: the signature of cluster-info for token ID %q is not valid: the token's secret is wrong", t.ID)
	}
	kubeconfig, err := clientcmd.Load([]byte(content))
	if err != nil {
		return Discovered{}, fmt.Errorf("discover cluster: read cluster-info: %w", err)
	}
	cluster := kubeconfig.Clusters[""]
	if cluster == nil {
		return Discovered{}, errors.New("discover cluster: cluster-info names no cluster")
	}
	if err := CheckPins(cluster.CertificateAuthorityData, pins); err != nil {
		return Discovered{}, err
	}
	return Discovered{Server: cluster.Server, CAPEM: cluster.CertificateAuthorityData}, nil
}

// CheckPins tells whether a CA is one of the pinned ones (caCertHashes). No pins allow any CA.
func CheckPins(caPEM []byte, pins []string) error {
	if len(pins) == 0 {
		return nil
	}
	hashes, err := certs.Hashes(caPEM)
	if err != nil {
		return fmt.Errorf("discover cluster: %w", err)
	}
	for _, h := range hashes {
		if slices.Contains(pins, h) {
			return nil
		}
	}
	return errors.New("discover cluster: the cluster's CA is none of those pinned by caCertHashes")
}
