package v1beta2

// Encoding names how the content of a file is encoded in the API object.
// +kubebuilder:validation:Enum=base64;gzip;gzip+base64
type Encoding string

const (
	// Base64 means that content is base64 text and is decoded on the machine.
	Base64 Encoding = "base64"

	// Gzip means that content is a gzip stream and is unpacked on the machine.
	Gzip Encoding = "gzip"

	// GzipBase64 means that content is base64 text of a gzip stream.
	GzipBase64 Encoding = "gzip+base64"
)

// FileContentFormat names whether content is taken as it is or rendered first.
// +kubebuilder:validation:Enum=Raw;Template
type FileContentFormat string

const (
	// FileContentFormatRaw means that content is written as it is.
	FileContentFormatRaw FileContentFormat = "Raw"

	// FileContentFormatTemplate means that content is a Go template; .controlPlane.version and its like are filled in.
	FileContentFormatTemplate FileContentFormat = "Template"
)

// File is a file that is written to the machine's disk before kubeadm runs.
type File struct {
	// path is the absolute path of the file on the machine. At most 512 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// owner is the user, or user and group joined by a colon, that the file belongs to: for example "root:root".
	// When unset, root owns it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Owner string `json:"owner,omitempty"`

	// permissions is the file's mode in octal: for example "0640". When unset, the image's first-boot agent decides
	// (0644 with cloud-init).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	Permissions string `json:"permissions,omitempty"`

	// encoding tells how content is encoded: base64, gzip or gzip+base64. When unset, content is plain text.
	// +optional
	Encoding Encoding `json:"encoding,omitempty"`

	// append adds content to the end of the file if it exists already. When unset, the file is replaced.
	// +optional
	Append *bool `json:"append,omitempty"`

	// content is what the file holds. At most 10240 characters; larger content goes into a Secret named by
	// contentFrom. Only one of content and contentFrom may be set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	Content string `json:"content,omitempty"`

	// contentFrom names where the content is read from. Only one of content and contentFrom may be set.
	// +optional
	ContentFrom FileSource `json:"contentFrom,omitempty,omitzero"`

	// contentFormat tells whether content is written as it is (Raw) or rendered as a Go template first (Template).
	// When unset, it is written as it is.
	// +optional
	ContentFormat FileContentFormat `json:"contentFormat,omitempty"`
}

// FileSource names where a file's content is read from.
type FileSource struct {
	// secret is the key of a Secret in the KubeadmConfig's namespace that holds the content.
	// +required
	Secret SecretFileSource `json:"secret,omitempty,omitzero"`
}

// SecretFileSource names a key of a Secret whose value is a file's content.
type SecretFileSource struct {
	// name is the name of the Secret, in the KubeadmConfig's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key is the key in the Secret's data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Key string `json:"key,omitempty"`
}

// User is an account that is created on the machine.
type User struct {
	// name is the login name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// gecos is the comment field of the account, usually a full name. When unset, it is empty.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Gecos string `json:"gecos,omitempty"`

	// groups lists further groups of the account, separated by commas. When unset, there are none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Groups string `json:"groups,omitempty"`

	// homeDir is the home directory. When unset, the system's default is taken.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	HomeDir string `json:"homeDir,omitempty"`

	// inactive creates the account disabled. When unset, it is enabled. Ignition refuses it.
	// +optional
	Inactive *bool `json:"inactive,omitempty"`

	// shell is the login shell. When unset, the system's default is taken.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Shell string `json:"shell,omitempty"`

	// passwd is the hash of the password, as crypt(3) writes it. Only one of passwd and passwdFrom may be set.
	// When both are unset, the account has no password.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Passwd string `json:"passwd,omitempty"`

	// passwdFrom names where the password's hash is read from. Only one of passwd and passwdFrom may be set.
	// +optional
	PasswdFrom PasswdSource `json:"passwdFrom,omitempty,omitzero"`

	// primaryGroup is the account's main group. When unset, a group of the account's own name is made.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	PrimaryGroup string `json:"primaryGroup,omitempty"`

	// lockPassword forbids logging in with the password. When unset, the first-boot agent decides (cloud-init locks).
	// +optional
	LockPassword *bool `json:"lockPassword,omitempty"`

	// sudo is the rule that is written to sudoers for the account: for example "ALL=(ALL) NOPASSWD:ALL".
	// When unset, the account gets no rule.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Sudo string `json:"sudo,omitempty"`

	// sshAuthorizedKeys are public keys that may log in as this account. When unset, none may.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	SSHAuthorizedKeys []string `json:"sshAuthorizedKeys,omitempty"`
}

// PasswdSource names where the hash of a password is read from.
type PasswdSource struct {
	// secret is the key of a Secret in the KubeadmConfig's namespace that holds the hash.
	// +required
	Secret SecretPasswdSource `json:"secret,omitempty,omitzero"`
}

// SecretPasswdSource names a key of a Secret whose value is the hash of a password.
type SecretPasswdSource struct {
	// name is the name of the Secret, in the KubeadmConfig's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key is the key in the Secret's data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Key string `json:"key,omitempty"`
}

// NTP sets up time synchronisation on the machine.
// +kubebuilder:validation:MinProperties=1
type NTP struct {
	// servers are the host names or addresses of time servers. When unset, the image's servers stay.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Servers []string `json:"servers,omitempty"`

	// enabled turns time synchronisation on or off. When unset, the first-boot agent decides (cloud-init turns it on).
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// MountPoints holds the columns of one fstab line, in order: device, mount point, type, options, dump, pass.
// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=100
// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:MaxLength=512
type MountPoints []string
