package v1beta2

const (
	// DefaultCertificatesDir is where a control-plane machine keeps certificates when certificatesDir is unset.
	DefaultCertificatesDir = "/etc/kubernetes/pki"

	// MachineCertificatesExpiryDateAnnotation on a KubeadmConfig or Machine holds the moment (RFC 3339) at which the
	// machine's certificates expire; the Machine's wins.
	MachineCertificatesExpiryDateAnnotation = "machine.cluster.x-k8s.io/certificates-expiry"
)

// Keys of the Secret that holds bootstrap data.
const (
	// DataSecretValueKey holds the bootstrap data itself.
	DataSecretValueKey = "value"

	// DataSecretFormatKey holds its Format.
	DataSecretFormatKey = "format"
)
