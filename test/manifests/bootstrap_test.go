package manifests_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// asked is what a machine's bootstrap data has to be made of.
type asked struct {
	spec bootstrapv1.KubeadmConfigSpec
	// secrets are the values of Secrets by "name/key".
	secrets map[string][]byte
	// version of the control plane.
	version string
}

// compare tells how the bootstrap data differs from what was asked for.
func compare(t *testing.T, data []byte, a asked) {
	t.Helper()
	got, err := cloudConfig(data)
	if err != nil {
		t.Errorf("%v\n%s", err, data)
		return
	}
	check := func(what string, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got[what]); diff != "" {
			t.Errorf("%s (-asked +read):\n%s", what, diff)
		}
	}
	check("bootcmd", list(a.spec.BootCommands))
	check("users", users(a))
	check("ntp", ntp(a.spec.NTP))
	check("mounts", mounts(a.spec.Mounts))
	check("disk_setup", disks(a.spec.DiskSetup.Partitions))
	check("fs_setup", filesystems(a.spec.DiskSetup.Filesystems))
	files := got["write_files"].([]any)
	for _, f := range a.spec.Files {
		if err := compareFile(files, f, a); err != nil {
			t.Errorf("file %s: %v", f.Path, err)
		}
	}
	compareCommands(t, got["runcmd"].([]any), a)
	compareKubeadm(t, files, a.spec)
}

func compareCommands(t *testing.T, got []any, a asked) {
	t.Helper()
	before, after := len(a.spec.PreKubeadmCommands), len(a.spec.PostKubeadmCommands)
	if len(got) != before+1+after {
		t.Errorf("%d commands, want %d and one and %d", len(got), before, after)
		return
	}
	if kubeadm := got[before].(string); !strings.HasPrefix(kubeadm, "kubeadm ") {
		t.Errorf("between the commands stands %q", kubeadm)
	}
	want := list(slices.Concat(a.spec.PreKubeadmCommands, a.spec.PostKubeadmCommands))
	if diff := cmp.Diff(want, any(slices.Concat(got[:before], got[before+1:]))); diff != "" && len(got) > 1 {
		t.Errorf("commands (-asked +read):\n%s", diff)
	}
}

func compareFile(files []any, f bootstrapv1.File, a asked) error {
	var found map[string]any
	for _, file := range files {
		if entry := file.(map[string]any); entry["path"] == f.Path {
			if found != nil {
				return errors.New("it is there twice")
			}
			found = entry
		}
	}
	if found == nil {
		return errors.New("it is not there")
	}
	want := []byte(f.Content)
	if secret := f.ContentFrom.Secret; secret.Name != "" {
		want = a.secrets[secret.Name+"/"+secret.Key]
	}
	if f.ContentFormat == bootstrapv1.FileContentFormatTemplate {
		want = bytes.ReplaceAll(want, []byte("{{ .controlPlane.version }}"), []byte(a.version))
	}
	// The author of a template wants it rendered, and what stands around it as it is.
	want = hostname.ReplaceAll(want, []byte(host))
	want, err := decoded(string(f.Encoding), want)
	if err != nil {
		return fmt.Errorf("what was asked for: %w", err)
	}
	have, err := decoded(text(found["encoding"]), []byte(text(found["content"])))
	if err != nil {
		return err
	}
	if diff := cmp.Diff(string(want), string(have)); diff != "" {
		return fmt.Errorf("content (-asked +read):\n%s", diff)
	}
	wanted := map[string]any{"path": f.Path}
	set(wanted, "owner", f.Owner)
	set(wanted, "permissions", f.Permissions)
	setBool(wanted, "append", f.Append)
	delete(found, "content")
	delete(found, "encoding")
	if diff := cmp.Diff(wanted, found); diff != "" {
		return fmt.Errorf("(-asked +read):\n%s", diff)
	}
	return nil
}

func decoded(encoding string, content []byte) ([]byte, error) {
	if encoding == "" {
		return content, nil
	}
	if strings.HasSuffix(encoding, "base64") {
		plain, err := base64.StdEncoding.DecodeString(string(content))
		if err != nil {
			return nil, err
		}
		content = plain
	}
	if !strings.HasPrefix(encoding, "gzip") {
		return content, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func users(a asked) any {
	out := make([]any, 0, len(a.spec.Users))
	for _, u := range a.spec.Users {
		if from := u.PasswdFrom.Secret; from.Name != "" {
			u.Passwd = string(a.secrets[from.Name+"/"+from.Key])
		}
		m := map[string]any{}
		for key, value := range map[string]string{
			"name": u.Name, "gecos": u.Gecos, "groups": u.Groups, "primary_group": u.PrimaryGroup, "homedir": u.HomeDir,
			"shell": u.Shell, "sudo": u.Sudo, "passwd": u.Passwd,
		} {
			set(m, key, value)
		}
		setBool(m, "lock_passwd", u.LockPassword)
		setBool(m, "inactive", u.Inactive)
		setList(m, "ssh_authorized_keys", u.SSHAuthorizedKeys)
		out = append(out, m)
	}
	return orNil(out)
}

func ntp(n bootstrapv1.NTP) any {
	m := map[string]any{}
	setBool(m, "enabled", n.Enabled)
	setList(m, "servers", n.Servers)
	if len(m) == 0 {
		return nil
	}
	return m
}

func mounts(all []bootstrapv1.MountPoints) any {
	out := make([]any, 0, len(all))
	for _, m := range all {
		out = append(out, list(m))
	}
	return orNil(out)
}

func disks(all []bootstrapv1.Partition) any {
	if len(all) == 0 {
		return nil
	}
	out := map[string]any{}
	for _, p := range all {
		m := map[string]any{}
		set(m, "table_type", p.TableType)
		setBool(m, "layout", p.Layout)
		setBool(m, "overwrite", p.Overwrite)
		for _, part := range p.DiskLayout {
			var item any = int(part.Percentage)
			if part.PartitionType == bootstrapv1.PartitionTypeLVM {
				item = []any{item, "8e"}
			}
			parts, _ := m["layout"].([]any)
			m["layout"] = append(parts, item)
		}
		out[p.Device] = m
	}
	return out
}

func filesystems(all []bootstrapv1.Filesystem) any {
	out := make([]any, 0, len(all))
	for _, f := range all {
		m := map[string]any{}
		for key, value := range map[string]string{
			"device": f.Device, "filesystem": f.Filesystem, "label": f.Label, "partition": f.Partition, "replace_fs": f.ReplaceFS,
		} {
			set(m, key, value)
		}
		setBool(m, "overwrite", f.Overwrite)
		setList(m, "extra_opts", f.ExtraOpts)
		out = append(out, m)
	}
	return orNil(out)
}

// compareKubeadm looks for all that was asked of kubeadm in the documents that it reads.
func compareKubeadm(t *testing.T, files []any, spec bootstrapv1.KubeadmConfigSpec) {
	t.Helper()
	documents := map[string]any{}
	for _, file := range files {
		entry := file.(map[string]any)
		if path.Dir(text(entry["path"])) != "/run/kubeadm" {
			continue
		}
		decoder := yaml.NewDecoder(strings.NewReader(text(entry["content"])))
		for {
			var document map[string]any
			err := decoder.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v: %v", entry["path"], err)
			}
			documents[text(document["kind"])] = document
		}
	}
	check := func(kind string, wanted any) {
		t.Helper()
		if got, ok := documents[kind]; ok {
			for _, lack := range missing(kind, plain(t, wanted), plain(t, got)) {
				t.Error(lack)
			}
		}
	}
	// These two are periods of other units in kubeadm's own words.
	spec.ClusterConfiguration.CertificateValidityPeriodDays, spec.ClusterConfiguration.CACertificateValidityPeriodDays = 0, 0
	check("ClusterConfiguration", &spec.ClusterConfiguration)
	check("InitConfiguration", &spec.InitConfiguration)
	check("JoinConfiguration", &spec.JoinConfiguration)
	if documents["InitConfiguration"] == nil && documents["JoinConfiguration"] == nil {
		t.Error("kubeadm has nothing to read")
	}
}

// plain is what JSON makes of a value, for a machine with the host's name.
func plain(t *testing.T, value any) any {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal([]byte(hostname.ReplaceAllString(string(raw), host)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// missing names what is wanted and not there, or there with another value.
func missing(at string, want, got any) []string {
	if m, ok := want.(map[string]any); ok {
		have, _ := got.(map[string]any)
		var out []string
		for _, key := range slices.Sorted(maps.Keys(m)) {
			out = append(out, missing(at+"."+key, m[key], have[key])...)
		}
		return out
	}
	if !reflect.DeepEqual(want, got) {
		return []string{fmt.Sprintf("%s is %v, not %v", at, got, want)}
	}
	return nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func set(m map[string]any, key, value string) {
	if value != "" {
		m[key] = value
	}
}

func setBool(m map[string]any, key string, value *bool) {
	if value != nil {
		m[key] = *value
	}
}

func setList(m map[string]any, key string, values []string) {
	if len(values) > 0 {
		m[key] = list(values)
	}
}

func list(values []string) any {
	out := make([]any, 0, len(values))
	for _, v := range values {
		out = append(out, hostname.ReplaceAllString(v, host))
	}
	return orNil(out)
}

func orNil(values []any) any {
	if len(values) == 0 {
		return nil
	}
	return values
}
