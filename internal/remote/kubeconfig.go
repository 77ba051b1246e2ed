package remote

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigKey is the key of the kubeconfig in its Secret.
const kubeconfigKey = "value"

// parseKubeconfig reads a kubeconfig that came out of a Secret. Whoever may write Secrets in one namespace of the
// management cluster must not thereby run commands or read files in this process, so plugins and paths are refused.
func parseKubeconfig(data []byte) (*rest.Config, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: the Secret has nothing under the key %q", errMalformed, kubeconfigKey)
	}
	raw, err := clientcmd.Load(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	for name, user := range raw.AuthInfos {
		if err := refuseOutside(user); err != nil {
			return nil, fmt.Errorf("%w: user %q: %w", errMalformed, name, err)
		}
	}
	for name, cluster := range raw.Clusters {
		if cluster.CertificateAuthority != "" {
			return nil, fmt.Errorf("%w: cluster %q: give certificate-authority-data instead of a file", errMalformed, name)
		}
	}
	config, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return config, nil
}

type outside string

func (o outside) Error() string { return string(o) }

func refuseOutside(user *clientcmdapi.AuthInfo) error {
	switch {
	case user.Exec != nil, user.AuthProvider != nil:
		return outside("plugins are not run: give a token or a client certificate")
	case user.TokenFile != "":
		return outside("give a token instead of a tokenFile")
	case user.ClientCertificate != "", user.ClientKey != "":
		return outside("give client-certificate-data and client-key-data instead of files")
	}
	return nil
}
