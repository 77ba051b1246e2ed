package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Config is cloud-config as a machine would act on it.
type Config struct {
	Hostname          string
	Files             []File
	BootCommands      []Command
	RunCommands       []Command
	Users             []User
	SSHAuthorizedKeys []string
	NTP               *NTP
	Disks             []Disk
	Filesystems       []Filesystem
	Mounts            [][]string
	Packages          []string
}

// File is a file to write, its content decoded.
type File struct {
	Path  string
	Owner string
	// Permissions in octal, four digits; empty means 0644.
	Permissions string
	Append      bool
	// Deferred files are written after users and packages are there.
	Deferred bool
	Content  []byte
}

// Command is either a line for the shell or a program with its arguments.
type Command struct {
	Line string
	Argv []string
}

// User is a user to create.
type User struct {
	Name, Gecos, PrimaryGroup, Groups, HomeDir, Passwd, Shell, Sudo string
	// Inactive and LockPasswd are nil when unset; a password is locked by default.
	Inactive, LockPasswd *bool
	SSHAuthorizedKeys    []string
}

// NTP says where the time comes from.
type NTP struct {
	// Enabled is nil when unset, which means yes.
	Enabled *bool
	Servers []string
}

// Disk is a disk to partition.
type Disk struct {
	Device, TableType string
	// Whole means one partition over the whole disk; else Partitions says which.
	Whole      bool
	Partitions []Partition
	Overwrite  bool
}

// Partition is a part of a disk. Type is empty for the default.
type Partition struct {
	Percentage int
	Type       string
}

// Filesystem is a file system to make.
type Filesystem struct {
	Label      string
	Filesystem string
	Device     string
	Partition  string
	Overwrite  bool
	ReplaceFS  string
	ExtraOpts  []string
}

// maxUnpacked bounds what a gzip stream may grow to.
const maxUnpacked = 16 << 20

// Read reads cloud-config. The variables are put in if it is a template. A key that is not known is an error that
// names it and its line: a machine that passes over what it was asked for is wrong without saying so.
func Read(data []byte, vars Variables) (*Config, error) {
	text, err := body(data, vars)
	if err != nil {
		return nil, fmt.Errorf("read cloud-config: %w", err)
	}
	var doc document
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read cloud-config: %w", readable(err))
	}
	if err := decoder.Decode(new(document)); !errors.Is(err, io.EOF) {
		return nil, errors.New("read cloud-config: there is more than one YAML document in it")
	}
	c, err := doc.config()
	if err != nil {
		return nil, fmt.Errorf("read cloud-config: %w", err)
	}
	return c, nil
}

// body checks the header and renders the template, if it is one.
func body(data []byte, vars Variables) (string, error) {
	text := string(data)
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(first) == TemplateLine {
		rendered, err := renderTemplate(rest, vars)
		if err != nil {
			return "", err
		}
		text = rendered
		first, _, _ = strings.Cut(text, "\n")
	}
	if strings.TrimSpace(first) != HeaderLine {
		return "", fmt.Errorf("the first line is %q, not %s", truncated(first), HeaderLine)
	}
	return text, nil
}

func truncated(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// readable takes the names of our types out of the decoder's message.
func readable(err error) error {
	var typed *yaml.TypeError
	if !errors.As(err, &typed) {
		return err
	}
	lines := make([]string, len(typed.Errors))
	for i, e := range typed.Errors {
		if before, after, ok := strings.Cut(e, ": field "); ok {
			name, _, _ := strings.Cut(after, " not found in type ")
			e = before + ": unknown key " + strconv.Quote(name)
		}
		lines[i] = e
	}
	return errors.New(strings.Join(lines, "; "))
}

// Content returns the file at a path as it is after all writes and appends, and whether there is one.
func (c *Config) Content(at string) ([]byte, bool) {
	var out []byte
	found := false
	for _, f := range c.Files {
		if path.Clean(f.Path) != path.Clean(at) {
			continue
		}
		if f.Append {
			out = append(slices.Clone(out), f.Content...)
		} else {
			out = f.Content
		}
		found = true
	}
	return out, found
}

// decode takes a file's encoding off its content.
func decode(encoding, content string) ([]byte, error) {
	data := []byte(content)
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "text/plain":
		return data, nil
	case "b64", "base64":
		return fromBase64(content)
	case "gz", "gzip":
		return unpack(data)
	case "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
		packed, err := fromBase64(content)
		if err != nil {
			return nil, err
		}
		return unpack(packed)
	default:
		return nil, fmt.Errorf("unknown encoding %q", encoding)
	}
}

func fromBase64(content string) ([]byte, error) {
	out, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content), ""))
	if err != nil {
		return nil, fmt.Errorf("content is not base64: %w", err)
	}
	return out, nil
}

func unpack(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("content is not gzip: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("unpack content: %w", err)
	}
	if len(out) > maxUnpacked {
		return nil, fmt.Errorf("unpack content: more than %d bytes", maxUnpacked)
	}
	return out, nil
}
