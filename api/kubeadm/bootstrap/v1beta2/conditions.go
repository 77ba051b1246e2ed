package v1beta2

// Conditions of a KubeadmConfig, beside Ready and Paused, which all kinds share.
const (
	// KubeadmConfigDataSecretAvailableCondition is True once the Secret with the bootstrap data exists.
	KubeadmConfigDataSecretAvailableCondition = "DataSecretAvailable"

	// KubeadmConfigCertificatesAvailableCondition is True once the cluster's certificate authorities exist.
	KubeadmConfigCertificatesAvailableCondition = "CertificatesAvailable"
)

// Condition types and reasons under status.deprecated.v1beta1, for clients that read no others.
const (
	// DataSecretAvailableV1Beta1Condition is True once the Secret with the bootstrap data exists.
	DataSecretAvailableV1Beta1Condition = "DataSecretAvailable"

	// CertificatesAvailableV1Beta1Condition is True once the cluster's certificate authorities exist.
	CertificatesAvailableV1Beta1Condition = "CertificatesAvailable"

	// WaitingForClusterInfrastructureReason means that the Cluster's infrastructure is not there yet.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"

	// DataSecretGenerationFailedReason means that the bootstrap data could not be made.
	DataSecretGenerationFailedReason = "DataSecretGenerationFailed"

	// CertificatesGenerationFailedReason means that a certificate authority could not be made.
	CertificatesGenerationFailedReason = "CertificatesGenerationFailed"

	// CertificatesCorruptedReason means that a Secret holds something that is no certificate authority.
	CertificatesCorruptedReason = "CertificatesCorrupted"
)
