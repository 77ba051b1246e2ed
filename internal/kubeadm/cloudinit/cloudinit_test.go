package cloudinit_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
)

var update = flag.Bool("update", false, "write the golden files anew")

func write(t *testing.T, in cloudinit.Input) []byte {
	t.Helper()
	if in.Phase == "" {
		in.Phase = cloudinit.Init
	}
	if in.Spec == nil {
		in.Spec = &bootstrapv1.KubeadmConfigSpec{}
	}
	text, err := cloudinit.Write(in)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func read(t *testing.T, text []byte, vars cloudinit.Variables) *cloudinit.Config {
	t.Helper()
	c, err := cloudinit.Read(text, vars)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

func TestWrite_LooksLikeThis(t *testing.T) {
	t.Parallel()
	in := cloudinit.Input{
		Phase:        cloudinit.Init,
		Kubeadm:      []byte("apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration:\n  name: '{{ ds.meta_data.local_hostname }}'\n"),
		Certificates: []bootstrapv1.File{{Path: "/etc/kubernetes/pki/ca.crt", Owner: "root:root", Permissions: "0640", Content: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}},
		Files: []bootstrapv1.File{
			{Path: "/etc/motd", Content: "Grüße, \"Welt\" # kein Kommentar: $HOME", Permissions: "0644", Append: new(true)},
			{Path: "/etc/x.bin", Content: "\xff\x00", Owner: "root:root"},
			{Path: "/etc/y", Content: "eA==", Encoding: bootstrapv1.Base64},
		},
		Users: []bootstrapv1.User{{Name: "ops", Sudo: "ALL=(ALL) NOPASSWD:ALL", Groups: "adm,sudo", LockPassword: new(false), Passwd: "$6$x$y", SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA ops@example.com"}}},
		Spec: &bootstrapv1.KubeadmConfigSpec{
			BootCommands:        []string{"modprobe br_netfilter"},
			PreKubeadmCommands:  []string{`echo "it's ${#HOSTS[@]} # hosts: {{json .}}" > /tmp/o`, "cat <<EOF > /tmp/p\n  a: 'b'\nEOF"},
			PostKubeadmCommands: []string{"yes", "=", "0644", "- x", "日本語 😀"},
			Verbosity:           new(int32(5)),
			NTP:                 bootstrapv1.NTP{Enabled: new(true), Servers: []string{"0.pool.ntp.org"}},
			Mounts:              []bootstrapv1.MountPoints{{"LABEL=etcd", "/var/lib/etcd", "ext4", "defaults"}},
			DiskSetup: bootstrapv1.DiskSetup{
				Partitions: []bootstrapv1.Partition{
					{Device: "/dev/sdb", Layout: new(true), Overwrite: new(false), TableType: "gpt"},
					{Device: "/dev/sdc", DiskLayout: []bootstrapv1.PartitionSpec{{Percentage: 30}, {Percentage: 70, PartitionType: bootstrapv1.PartitionTypeLVM}}},
				},
				Filesystems: []bootstrapv1.Filesystem{{Device: "/dev/sdb", Filesystem: "ext4", Label: "etcd", Partition: "auto", ExtraOpts: []string{"-E", "lazy_itable_init=1"}}},
			},
		},
	}
	text := write(t, in)
	path := filepath.Join("testdata", "init.yaml")
	if *update {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("(-golden +got):\n%s", diff)
	}
	got := read(t, text, cloudinit.Variables{"ds.meta_data.local_hostname": "node-1"})
	check := func(what string, want, have any) {
		t.Helper()
		if diff := cmp.Diff(want, have, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-asked +read):\n%s", what, diff)
		}
	}
	check("commands", lines(in.Spec.PreKubeadmCommands, []string{
		"kubeadm init --config /run/kubeadm/kubeadm.yaml --v 5 && echo success > /run/cluster-api/bootstrap-success.complete",
	}, in.Spec.PostKubeadmCommands), got.RunCommands)
	check("boot commands", lines(in.Spec.BootCommands), got.BootCommands)
	check("users", []cloudinit.User{{
		Name: "ops", Sudo: "ALL=(ALL) NOPASSWD:ALL", Groups: "adm,sudo", LockPasswd: new(false), Passwd: "$6$x$y", SSHAuthorizedKeys: in.Users[0].SSHAuthorizedKeys,
	}}, got.Users)
	check("ntp", &cloudinit.NTP{Enabled: new(true), Servers: []string{"0.pool.ntp.org"}}, got.NTP)
	check("mounts", [][]string{in.Spec.Mounts[0]}, got.Mounts)
	check("disks", []cloudinit.Disk{
		{Device: "/dev/sdb", TableType: "gpt", Whole: true},
		{Device: "/dev/sdc", Partitions: []cloudinit.Partition{{Percentage: 30}, {Percentage: 70, Type: "8e"}}},
	}, got.Disks)
	check("filesystems", []cloudinit.Filesystem{{Device: "/dev/sdb", Filesystem: "ext4", Label: "etcd", Partition: "auto", ExtraOpts: []string{"-E", "lazy_itable_init=1"}}}, got.Filesystems)
	kubeadm, _ := got.Content(cloudinit.InitConfigPath)
	check("kubeadm configuration", strings.Replace(string(in.Kubeadm), "{{ ds.meta_data.local_hostname }}", "node-1", 1), string(kubeadm))
	check("first file", cloudinit.File{Path: "/etc/kubernetes/pki/ca.crt", Owner: "root:root", Permissions: "0640", Content: []byte(in.Certificates[0].Content)}, got.Files[0])
	binary, _ := got.Content("/etc/x.bin")
	check("binary file", []byte("\xff\x00"), binary)
}

func TestWrite_IsATemplateOnlyWhereItHasToBe(t *testing.T) {
	t.Parallel()
	vars := cloudinit.Variables{"ds.meta_data.local_hostname": "h", "v1.instance_id": "i-1"}
	for _, tc := range []struct {
		name, command string
		template      bool
		want          string
	}{
		{"a variable", "hostname {{ ds.meta_data.local_hostname }}", true, "hostname h"},
		{"a variable in quotes", `hostname "{{ ds.meta_data["local_hostname"] }}" 'x'`, true, `hostname "h" 'x'`},
		{"a standard variable", "echo {{ v1.instance_id }}", true, "echo i-1"},
		{"a variable that is not there", "echo {{ ds.meta_data.nope }}", true, "echo CI_MISSING_JINJA_VAR/ds.meta_data.nope"},
		{"a variable and a shell's length", "echo {{ v1.instance_id }} ${#a[@]}", true, "echo i-1 ${#a[@]}"},
		{"a variable and a Go template", `{{ v1.instance_id }} --format '{{range .Items}}{{.Name}}{{"\n"}}{{end}}'`, true, `i-1 --format '{{range .Items}}{{.Name}}{{"\n"}}{{end}}'`},
		{"a raw block", "a {% raw %}{{ v1.x }} {#{% endraw %} b", true, "a {{ v1.x }} {# b"},
		{"an escaped mark", "{{ '{{' }} x }}", true, "{{ x }}"},
		{"a shell's length", "echo ${#a[@]}", false, "echo ${#a[@]}"},
		{"a Go template", `docker ps --format '{{json .}}'`, false, `docker ps --format '{{json .}}'`},
		{"another program's variable", "consul {{ key }}", false, "consul {{ key }}"},
		{"a date", "date +{%Y}", false, "date +{%Y}"},
		{"an open mark at the end", "echo {{", false, "echo {{"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text := write(t, cloudinit.Input{Spec: &bootstrapv1.KubeadmConfigSpec{PreKubeadmCommands: []string{tc.command}}})
			if got := strings.HasPrefix(string(text), "## template: jinja\n#cloud-config\n"); got != tc.template {
				t.Errorf("is a template: %t\n%s", got, text)
			}
			if got := read(t, text, vars).RunCommands[0].Line; got != tc.want {
				t.Errorf("%q becomes %q, want %q", tc.command, got, tc.want)
			}
		})
	}
}

func TestWrite_GivesTheSameBytesAndChangesNoInput(t *testing.T) {
	t.Parallel()
	set := certs.Set{}
	for _, p := range certs.Generated(certs.ExternalEtcd{}) {
		pair, err := certs.Generate(p, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		set[p] = pair
	}
	files, err := cloudinit.CertificateFiles(set, "", certs.ExternalEtcd{})
	if err != nil {
		t.Fatal(err)
	}
	in := cloudinit.Input{
		Phase: cloudinit.Join, Certificates: files, Spec: &bootstrapv1.KubeadmConfigSpec{},
		Files: []bootstrapv1.File{{Path: "/etc/kubernetes/pki/ca.crt", Content: "mine"}, {Path: "/a", Content: "1"}, {Path: "/a", Content: "2", Append: new(true)}},
	}
	first := write(t, in)
	if second := write(t, in); string(first) != string(second) {
		t.Error("a second time it differs")
	}
	got := read(t, first, nil)
	count := map[string]int{}
	for _, f := range got.Files {
		count[f.Path]++
		wantMode := "0640"
		if strings.HasSuffix(f.Path, ".key") {
			wantMode = "0600"
		}
		if strings.HasPrefix(f.Path, "/etc/kubernetes/pki/") && f.Path != "/etc/kubernetes/pki/ca.crt" && f.Permissions != wantMode {
			t.Errorf("%s has mode %s", f.Path, f.Permissions)
		}
	}
	if count["/etc/kubernetes/pki/ca.crt"] != 1 || count["/etc/kubernetes/pki/etcd/ca.key"] != 1 || count["/a"] != 2 {
		t.Errorf("files are written %v times", count)
	}
	if content, _ := got.Content("/a"); string(content) != "12" {
		t.Errorf("appended: %q", content)
	}
}

func TestWrite_RefusesWhatIsUnfinished(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]cloudinit.Input{
		"no phase": {Spec: &bootstrapv1.KubeadmConfigSpec{}},
		"a secret that was not read": {Phase: cloudinit.Init, Spec: &bootstrapv1.KubeadmConfigSpec{}, Files: []bootstrapv1.File{{
			Path: "/x", ContentFrom: bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: "s", Key: "k"}},
		}}},
		"a command that is no text": {Phase: cloudinit.Init, Spec: &bootstrapv1.KubeadmConfigSpec{BootCommands: []string{"\xff"}}},
	} {
		if _, err := cloudinit.Write(in); err == nil {
			t.Errorf("%s: was written", name)
		}
	}
	if _, err := cloudinit.CertificateFiles(certs.Set{}, "", certs.ExternalEtcd{}); err == nil || !strings.Contains(err.Error(), `"ca" is missing`) {
		t.Errorf("without certificates: %v", err)
	}
}

// Whatever style of YAML a text needs, its author's templates are rendered and the rest is kept.
func TestTemplates_AreRenderedInEveryStyleOfText(t *testing.T) {
	t.Parallel()
	vars := cloudinit.Variables{"ds.meta_data.x": "VALUE"}
	for _, tc := range []struct{ content, want string }{
		{"echo \"😀 {{ ds.meta_data.x }} costs $5, ${HOME}\"", "echo \"😀 VALUE costs $5, ${HOME}\""},
		{"echo \"😀 {{ ds.meta_data.x }} costs $5, ${HOME}\"\n", "echo \"😀 VALUE costs $5, ${HOME}\"\n"},
		{`{{ ds["meta_data"]["x"] }} is "quoted"`, `VALUE is "quoted"`},
		{"😀 {{ ds[\"meta_data\"][\"x\"] }} and \"$x\" \\ {{json .}}\n", "😀 VALUE and \"$x\" \\ {{json .}}\n"},
		{"\t{{ ds[\"meta_data\"]['x'] }} {{ ds[\"meta_data\"][\"x\"] }} \r\n", "\t{{ ds[\"meta_data\"]['x'] }} VALUE \r\n"},
	} {
		in := cloudinit.Input{Phase: cloudinit.Join, Spec: &bootstrapv1.KubeadmConfigSpec{}, Files: []bootstrapv1.File{{Path: "/x", Content: tc.content}}}
		text, err := cloudinit.Write(in)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := read(t, text, vars).Content("/x"); string(got) != tc.want {
			t.Errorf("%q became %q, want %q\n%s", tc.content, got, tc.want, text)
		}
	}
}

func TestRead_TakesWhatCloudInitTakes(t *testing.T) {
	t.Parallel()
	got := read(t, []byte(`#cloud-config
hostname: h
write_files:
- {path: /a, permissions: 0600, content: !!binary aGk=}
- {path: /b, permissions: '755', encoding: GZ+B64, content: `+encoded([]byte("h"), bootstrapv1.GzipBase64)+`, defer: true}
- {path: /c}
runcmd:
- [ls, -l, /]
- echo hi
users:
- {name: u, groups: [a, b]}
ssh_authorized_keys: [k]
packages: [p]
`), nil)
	want := &cloudinit.Config{
		Hostname: "h",
		Files: []cloudinit.File{
			{Path: "/a", Permissions: "0600", Content: []byte("hi")},
			{Path: "/b", Permissions: "0755", Content: []byte("h"), Deferred: true},
			{Path: "/c", Content: []byte{}},
		},
		RunCommands:       []cloudinit.Command{{Argv: []string{"ls", "-l", "/"}}, {Line: "echo hi"}},
		Users:             []cloudinit.User{{Name: "u", Groups: "a,b"}},
		SSHAuthorizedKeys: []string{"k"}, Packages: []string{"p"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRead_NamesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"no header", "runcmd: []\n", "not #cloud-config"},
		{"a script", "#!/bin/sh\n", "#!/bin/sh"},
		{"an unknown key", "#cloud-config\nruncmds: []\n", `line 2: unknown key "runcmds"`},
		{"an unknown key below", "#cloud-config\nwrite_files:\n- path: /a\n  mode: x\n", `line 4: unknown key "mode"`},
		{"an unknown key of a disk", "#cloud-config\ndisk_setup:\n  /dev/sdb:\n    lay: true\n", `unknown key "lay"`},
		{"an unknown encoding", "#cloud-config\nwrite_files:\n- {path: /a, encoding: rot13}\n", `unknown encoding "rot13"`},
		{"no base64", "#cloud-config\nwrite_files:\n- {path: /a, encoding: b64, content: '*'}\n", "/a: content is not base64"},
		{"no gzip", "#cloud-config\nwrite_files:\n- {path: /a, encoding: gz, content: x}\n", "/a: content is not gzip"},
		{"no path", "#cloud-config\nwrite_files:\n- {content: x}\n", "entry 1 has no path"},
		{"no mode", "#cloud-config\nwrite_files:\n- {path: /a, permissions: rwx}\n", "no octal file mode"},
		{"a command that is a mapping", "#cloud-config\nruncmd:\n- {a: b}\n", "a command is a string or a list"},
		{"broken YAML", "#cloud-config\nruncmd: [\n", "read cloud-config"},
		{"a key twice", "#cloud-config\nruncmd: []\nruncmd: []\n", "already defined"},
		{"two documents", "#cloud-config\nruncmd: []\n---\nruncmd: []\n", "more than one"},
		{"a template's statement", "## template: jinja\n#cloud-config\nruncmd: ['{% if x %}']\n", "{% if x %} is not supported"},
		{"a template's filter", "## template: jinja\n#cloud-config\nruncmd: ['{{ v1.x | upper }}']\n", "v1.x | upper"},
		{"a template's open comment", "## template: jinja\n#cloud-config\nruncmd: ['${#a}']\n", "{# is not closed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := cloudinit.Read([]byte(tc.text), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one that says %s", err, tc.want)
			}
		})
	}
}

func TestRender_FillsInTheControlPlanesVersion(t *testing.T) {
	t.Parallel()
	values := cloudinit.Values{ControlPlaneVersion: "v1.37.2"}
	file := func(content string, format bootstrapv1.FileContentFormat) bootstrapv1.File {
		return bootstrapv1.File{Path: "/f", Content: content, ContentFormat: format}
	}
	for _, tc := range []struct {
		name string
		file bootstrapv1.File
		want string // empty: refused
	}{
		{"a template", file("K={{ .controlPlane.version }}", bootstrapv1.FileContentFormatTemplate), "K=v1.37.2"},
		{"raw", file("K={{ .controlPlane.version }}", bootstrapv1.FileContentFormatRaw), "K={{ .controlPlane.version }}"},
		{"unset means raw", file("{{", ""), "{{"},
		{"an unknown name", file("{{ .controlPlane.nope }}", bootstrapv1.FileContentFormatTemplate), ""},
		{"no template", file("{{", bootstrapv1.FileContentFormatTemplate), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := cloudinit.Render(tc.file, values)
			if (err == nil) != (tc.want != "") || (err == nil && got.Content != tc.want) {
				t.Errorf("%q, %v; want %q", got.Content, err, tc.want)
			}
		})
	}
}
