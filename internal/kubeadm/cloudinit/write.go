// Package cloudinit writes the bootstrap data of a machine as cloud-config, and reads cloud-config as cloud-init would.
//
// Writing and reading are each other's inverse: what a KubeadmConfig asks for comes out of Read byte for byte, whatever
// quotes, comment signs, dollars or alphabets are in it. Templates of cloud-init ({{ ds.meta_data.local_hostname }}
// and the like) keep working, and only what is one is treated as one: see jinja.go.
package cloudinit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/certs"
)

// Phase is which kubeadm command a machine runs.
type Phase string

// The phases.
const (
	Init Phase = "init"
	Join Phase = "join"
)

const (
	// InitConfigPath is where kubeadm init finds its configuration.
	InitConfigPath = "/run/kubeadm/kubeadm.yaml"
	// JoinConfigPath is where kubeadm join finds its configuration.
	JoinConfigPath = "/run/kubeadm/kubeadm-join-config.yaml"
	// PlaceholderPath is a file whose only use is that its directory exists when the sentinel is written.
	PlaceholderPath = "/run/cluster-api/placeholder"
	// SentinelPath is the file by which infrastructure providers see that kubeadm succeeded.
	SentinelPath = "/run/cluster-api/bootstrap-success.complete"

	// HeaderLine marks cloud-config.
	HeaderLine = "#cloud-config"
	// TemplateLine stands above HeaderLine when the text is a Jinja template.
	TemplateLine = "## template: jinja"

	rootOwner = "root:root"
)

// ConfigPath returns where kubeadm finds its configuration.
func (p Phase) ConfigPath() string {
	if p == Init {
		return InitConfigPath
	}
	return JoinConfigPath
}

// Command returns the kubeadm command line, with the sentinel that follows its success.
func (p Phase) Command(verbosity *int32) string {
	command := "kubeadm " + string(p) + " --config " + p.ConfigPath()
	if verbosity != nil {
		command += " --v " + strconv.Itoa(int(*verbosity))
	}
	return command + " && echo success > " + SentinelPath
}

// Input is everything the bootstrap data of one machine is made of. Nothing in it is changed.
type Input struct {
	Phase Phase
	// Kubeadm is the text of kubeadm's configuration documents.
	Kubeadm []byte
	// Certificates are written before Files; see CertificateFiles.
	Certificates []bootstrapv1.File
	// Files and Users are the KubeadmConfig's, with contentFrom and passwdFrom resolved into Content and Passwd.
	Files []bootstrapv1.File
	Users []bootstrapv1.User
	// Spec is the KubeadmConfig's; its commands, ntp, diskSetup, mounts and verbosity are used.
	Spec *bootstrapv1.KubeadmConfigSpec
}

// CertificateFiles returns the files of a control plane machine's key pairs, in a fixed order.
func CertificateFiles(set certs.Set, dir string, externalEtcd certs.ExternalEtcd) ([]bootstrapv1.File, error) {
	var out []bootstrapv1.File
	for _, p := range certs.Required(externalEtcd) {
		pair, ok := set[p]
		if !ok {
			return nil, fmt.Errorf("write certificates: the key pair %q is missing", p)
		}
		paths := p.Files(dir, externalEtcd)
		if paths.Cert != "" {
			out = append(out, bootstrapv1.File{Path: paths.Cert, Owner: rootOwner, Permissions: "0640", Content: string(pair.Cert)})
		}
		if paths.Key != "" {
			out = append(out, bootstrapv1.File{Path: paths.Key, Owner: rootOwner, Permissions: "0600", Content: string(pair.Key)})
		}
	}
	return out, nil
}

// Write returns the bootstrap data of a machine. The same input gives the same bytes.
func Write(in Input) ([]byte, error) {
	if in.Phase != Init && in.Phase != Join {
		return nil, fmt.Errorf("write cloud-config: unknown phase %q", in.Phase)
	}
	root := newMapping()
	files, err := fileNodes(allFiles(in))
	if err != nil {
		return nil, fmt.Errorf("write cloud-config: %w", err)
	}
	root.list("write_files", files)
	commands := slices.Concat(in.Spec.PreKubeadmCommands, []string{in.Phase.Command(in.Spec.Verbosity)}, in.Spec.PostKubeadmCommands)
	for name, list := range map[string][]string{"bootCommands": in.Spec.BootCommands, "preKubeadmCommands and postKubeadmCommands": commands} {
		if slices.ContainsFunc(list, func(c string) bool { return !isText(c) }) {
			return nil, fmt.Errorf("write cloud-config: %s has a command that is not text", name)
		}
	}
	root.texts("bootcmd", in.Spec.BootCommands)
	root.texts("runcmd", commands)
	setNTP(root, in.Spec.NTP)
	root.list("users", userNodes(in.Users))
	if err := setDisks(root, in.Spec.DiskSetup); err != nil {
		return nil, fmt.Errorf("write cloud-config: %w", err)
	}
	var mounts []*yaml.Node
	for _, m := range in.Spec.Mounts {
		mounts = append(mounts, textsNode(m))
	}
	root.list("mounts", mounts)
	body, err := encode(root)
	if err != nil {
		return nil, fmt.Errorf("write cloud-config: %w", err)
	}
	return withHeader(body), nil
}

// withHeader marks the text as a template only if there is a template in it; all else would be read as Jinja too, and a
// shell's ${#array[@]} is the beginning of a comment there.
func withHeader(body []byte) []byte {
	var out bytes.Buffer
	if text := string(body); hasTemplate(text) {
		out.WriteString(TemplateLine + "\n")
		body = []byte(escapeNonTemplates(text))
	}
	out.WriteString(HeaderLine + "\n")
	out.Write(body)
	return out.Bytes()
}

// allFiles lists what is written, in order. A user's file takes the place of ours at the same path, so that no
// path is written twice unless it is appended to.
func allFiles(in Input) []bootstrapv1.File {
	files := slices.Concat(in.Certificates, []bootstrapv1.File{
		{Path: in.Phase.ConfigPath(), Owner: rootOwner, Permissions: "0640", Content: string(in.Kubeadm)},
		{Path: PlaceholderPath, Owner: rootOwner, Permissions: "0640", Content: "This file is here so that its directory is.\n"},
	})
	for _, f := range in.Files {
		i := slices.IndexFunc(files, func(o bootstrapv1.File) bool { return o.Path == f.Path })
		if i >= 0 && (f.Append == nil || !*f.Append) {
			files[i] = f
		} else {
			files = append(files, f)
		}
	}
	return files
}

func fileNodes(files []bootstrapv1.File) ([]*yaml.Node, error) {
	var out []*yaml.Node
	for _, f := range files {
		if f.ContentFrom != (bootstrapv1.FileSource{}) && f.Content == "" {
			return nil, fmt.Errorf("file %s: the content of secret %s has not been read", f.Path, f.ContentFrom.Secret.Name)
		}
		n := newMapping()
		n.text("path", f.Path)
		encoding, content := carried(f)
		n.text("encoding", encoding)
		n.text("owner", f.Owner)
		n.text("permissions", f.Permissions)
		n.bool("append", f.Append)
		n.text("content", content)
		out = append(out, &n.node)
	}
	return out, nil
}

// carried returns how a file's content travels. What the user encoded goes as it is; bytes that are not text (a
// binary secret, raw gzip) go as base64, which cloud-init takes off before it unpacks.
func carried(f bootstrapv1.File) (encoding, content string) {
	if isText(f.Content) {
		return string(f.Encoding), f.Content
	}
	switch f.Encoding {
	case bootstrapv1.Gzip:
		return string(bootstrapv1.GzipBase64), toBase64(f.Content)
	case bootstrapv1.Base64, bootstrapv1.GzipBase64:
		return string(f.Encoding), f.Content
	default:
		return string(bootstrapv1.Base64), toBase64(f.Content)
	}
}

func setNTP(root *mapping, n bootstrapv1.NTP) {
	if n.Enabled == nil && len(n.Servers) == 0 {
		return
	}
	m := newMapping()
	m.bool("enabled", n.Enabled)
	m.texts("servers", n.Servers)
	root.set("ntp", &m.node)
}

func userNodes(users []bootstrapv1.User) []*yaml.Node {
	var out []*yaml.Node
	for _, u := range users {
		m := newMapping()
		m.text("name", u.Name)
		m.text("gecos", u.Gecos)
		m.text("primary_group", u.PrimaryGroup)
		m.text("groups", u.Groups)
		m.text("homedir", u.HomeDir)
		m.bool("inactive", u.Inactive)
		m.bool("lock_passwd", u.LockPassword)
		m.text("passwd", u.Passwd)
		m.text("shell", u.Shell)
		m.text("sudo", u.Sudo)
		m.texts("ssh_authorized_keys", u.SSHAuthorizedKeys)
		out = append(out, &m.node)
	}
	return out
}

func setDisks(root *mapping, d bootstrapv1.DiskSetup) error {
	disks := newMapping()
	for _, p := range d.Partitions {
		m := newMapping()
		m.text("table_type", p.TableType)
		switch {
		case len(p.DiskLayout) > 0:
			layout, err := layoutNode(p.DiskLayout)
			if err != nil {
				return fmt.Errorf("disk %s: %w", p.Device, err)
			}
			m.set("layout", layout)
		case p.Layout != nil:
			m.bool("layout", p.Layout)
		default:
			return fmt.Errorf("disk %s: neither layout nor diskLayout is set", p.Device)
		}
		m.bool("overwrite", p.Overwrite)
		disks.set(p.Device, &m.node)
	}
	if len(d.Partitions) > 0 {
		root.set("disk_setup", &disks.node)
	}
	var filesystems []*yaml.Node
	for _, f := range d.Filesystems {
		m := newMapping()
		m.text("label", f.Label)
		m.text("filesystem", f.Filesystem)
		m.text("device", f.Device)
		m.text("partition", f.Partition)
		m.bool("overwrite", f.Overwrite)
		m.text("replace_fs", f.ReplaceFS)
		m.texts("extra_opts", f.ExtraOpts)
		filesystems = append(filesystems, &m.node)
	}
	root.list("fs_setup", filesystems)
	return nil
}

// layoutNode writes partitions as cloud-init has them: a percentage, or a percentage and a partition type. It pads a
// type of two digits for GPT itself.
func layoutNode(layout []bootstrapv1.PartitionSpec) (*yaml.Node, error) {
	out := listNode()
	for _, p := range layout {
		if p.PartitionType == "" {
			out.Content = append(out.Content, intNode(p.Percentage))
			continue
		}
		code, err := partitionCode(p.PartitionType)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, listNode(intNode(p.Percentage), textNode(code)))
	}
	return out, nil
}

func partitionCode(t bootstrapv1.PartitionType) (string, error) {
	switch t {
	case bootstrapv1.PartitionTypeLinux:
		return "83", nil
	case bootstrapv1.PartitionTypeLinuxSwap:
		return "82", nil
	case bootstrapv1.PartitionTypeLinuxRAID:
		return "fd", nil
	case bootstrapv1.PartitionTypeLVM:
		return "8e", nil
	case bootstrapv1.PartitionTypeFat32:
		return "0c", nil
	case bootstrapv1.PartitionTypeNTFS:
		return "07", nil
	case bootstrapv1.PartitionTypeLinuxExtended:
		return "85", nil
	}
	if len(t) == 36 {
		return string(t), nil
	}
	return "", errors.New("unknown partition type " + strconv.Quote(string(t)))
}
