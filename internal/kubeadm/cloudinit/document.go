package cloudinit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is cloud-config as it is written, key for key.
type document struct {
	Hostname          string                `yaml:"hostname"`
	WriteFiles        []fileEntry           `yaml:"write_files"`
	Bootcmd           []command             `yaml:"bootcmd"`
	Runcmd            []command             `yaml:"runcmd"`
	Users             []userEntry           `yaml:"users"`
	SSHAuthorizedKeys []string              `yaml:"ssh_authorized_keys"`
	NTP               *ntpEntry             `yaml:"ntp"`
	DiskSetup         orderedMap[diskEntry] `yaml:"disk_setup"`
	FSSetup           []filesystemEntry     `yaml:"fs_setup"`
	Mounts            [][]string            `yaml:"mounts"`
	Packages          []string              `yaml:"packages"`
}

type fileEntry struct {
	Path        string `yaml:"path"`
	Owner       string `yaml:"owner"`
	Permissions octal  `yaml:"permissions"`
	Encoding    string `yaml:"encoding"`
	Append      bool   `yaml:"append"`
	Defer       bool   `yaml:"defer"`
	Content     string `yaml:"content"`
}

type userEntry struct {
	Name              string   `yaml:"name"`
	Gecos             string   `yaml:"gecos"`
	PrimaryGroup      string   `yaml:"primary_group"`
	Groups            texts    `yaml:"groups"`
	HomeDir           string   `yaml:"homedir"`
	Inactive          *bool    `yaml:"inactive"`
	LockPasswd        *bool    `yaml:"lock_passwd"`
	Passwd            string   `yaml:"passwd"`
	Shell             string   `yaml:"shell"`
	Sudo              string   `yaml:"sudo"`
	SSHAuthorizedKeys []string `yaml:"ssh_authorized_keys"`
}

type ntpEntry struct {
	Enabled *bool    `yaml:"enabled"`
	Servers []string `yaml:"servers"`
}

type diskEntry struct {
	TableType string `yaml:"table_type"`
	Layout    layout `yaml:"layout"`
	Overwrite bool   `yaml:"overwrite"`
}

// UnmarshalYAML implements yaml.Unmarshaler. It looks at the keys itself, because a decoder does not hand down that it
// is strict.
func (d *diskEntry) UnmarshalYAML(n *yaml.Node) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key := n.Content[i]; key.Value {
		case "table_type", "layout", "overwrite":
		default:
			return fmt.Errorf("line %d: unknown key %q", key.Line, key.Value)
		}
	}
	type bare diskEntry
	return n.Decode((*bare)(d))
}

type filesystemEntry struct {
	Label      string   `yaml:"label"`
	Filesystem string   `yaml:"filesystem"`
	Device     string   `yaml:"device"`
	Partition  string   `yaml:"partition"`
	Overwrite  bool     `yaml:"overwrite"`
	ReplaceFS  string   `yaml:"replace_fs"`
	ExtraOpts  []string `yaml:"extra_opts"`
}

// command is a string or a list of strings.
type command Command

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *command) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Decode(&c.Line)
	case yaml.SequenceNode:
		return n.Decode(&c.Argv)
	case yaml.DocumentNode, yaml.MappingNode, yaml.AliasNode:
	}
	return fmt.Errorf("line %d: a command is a string or a list of strings", n.Line)
}

// texts is a string or a list of strings, which are joined by commas.
type texts string

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *texts) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return n.Decode((*string)(t))
	}
	var list []string
	if err := n.Decode(&list); err != nil {
		return err
	}
	*t = texts(strings.Join(list, ","))
	return nil
}

// octal is a file mode: a string is read as octal, a number as it is (YAML has read 0644 as octal already).
type octal string

// UnmarshalYAML implements yaml.Unmarshaler.
func (o *octal) UnmarshalYAML(n *yaml.Node) error {
	base := 8
	if n.Tag == "!!int" {
		base = 0
	}
	mode, err := strconv.ParseUint(strings.Replace(n.Value, "0o", "0", 1), base, 32)
	if err != nil || mode > 0o7777 {
		return fmt.Errorf("line %d: permissions %q are no octal file mode", n.Line, n.Value)
	}
	*o = octal(fmt.Sprintf("%04o", mode))
	return nil
}

// layout is true, or a list whose items are a percentage or a pair of percentage and type.
type layout struct {
	whole      bool
	partitions []Partition
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *layout) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&l.whole)
	}
	for _, item := range n.Content {
		p, err := partition(item)
		if err != nil {
			return err
		}
		l.partitions = append(l.partitions, p)
	}
	return nil
}

func partition(n *yaml.Node) (Partition, error) {
	var p Partition
	switch {
	case n.Kind == yaml.ScalarNode:
		return p, n.Decode(&p.Percentage)
	case n.Kind == yaml.SequenceNode && len(n.Content) == 2:
		if err := n.Content[0].Decode(&p.Percentage); err != nil {
			return p, err
		}
		return p, n.Content[1].Decode(&p.Type)
	}
	return p, fmt.Errorf("line %d: a partition is a percentage, or a list of a percentage and a type", n.Line)
}

// orderedMap keeps the order in which a mapping is written; disks are set up in it.
type orderedMap[V any] struct {
	keys   []string
	values map[string]V
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (m *orderedMap[V]) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a mapping is wanted here", n.Line)
	}
	for i := 0; i < len(n.Content); i += 2 {
		m.keys = append(m.keys, n.Content[i].Value)
	}
	return n.Decode(&m.values)
}

func (d *document) config() (*Config, error) {
	c := &Config{
		Hostname: d.Hostname, BootCommands: commands(d.Bootcmd), RunCommands: commands(d.Runcmd),
		SSHAuthorizedKeys: d.SSHAuthorizedKeys, Mounts: d.Mounts, Packages: d.Packages,
	}
	for i, f := range d.WriteFiles {
		if f.Path == "" {
			return nil, fmt.Errorf("write_files: entry %d has no path", i+1)
		}
		content, err := decode(f.Encoding, f.Content)
		if err != nil {
			return nil, fmt.Errorf("write_files: %s: %w", f.Path, err)
		}
		c.Files = append(c.Files, File{
			Path: f.Path, Owner: f.Owner, Permissions: string(f.Permissions), Append: f.Append, Deferred: f.Defer, Content: content,
		})
	}
	for _, u := range d.Users {
		if u.Name == "" {
			return nil, errors.New("users: an entry has no name")
		}
		c.Users = append(c.Users, User{
			Name: u.Name, Gecos: u.Gecos, PrimaryGroup: u.PrimaryGroup, Groups: string(u.Groups), HomeDir: u.HomeDir, Passwd: u.Passwd,
			Shell: u.Shell, Sudo: u.Sudo, Inactive: u.Inactive, LockPasswd: u.LockPasswd, SSHAuthorizedKeys: u.SSHAuthorizedKeys,
		})
	}
	if d.NTP != nil {
		c.NTP = &NTP{Enabled: d.NTP.Enabled, Servers: d.NTP.Servers}
	}
	for _, device := range d.DiskSetup.keys {
		e := d.DiskSetup.values[device]
		c.Disks = append(c.Disks, Disk{
			Device: device, TableType: e.TableType, Whole: e.Layout.whole, Partitions: e.Layout.partitions, Overwrite: e.Overwrite,
		})
	}
	for _, f := range d.FSSetup {
		c.Filesystems = append(c.Filesystems, Filesystem(f))
	}
	return c, nil
}

func commands(in []command) []Command {
	var out []Command
	for _, c := range in {
		out = append(out, Command(c))
	}
	return out
}
