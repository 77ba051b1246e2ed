package cloudinit_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
)

// nasty draws strings of the pieces that have broken generated YAML before.
func nasty() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"'", `"`, "#", " #", ": ", "- ", "$", "${#a[@]}", "{{ .Field }}", "{{json .}}", "{%", "{#", "#}", "}}", "%}", `\`, `\n`, "\n", "\n\n", "\r\n", "\t", " ",
			"  ", "|", ">", "&a", "*a", "!tag", "%", "@", "`", "yes", "no", "null", "~", "0644", "1:30", "=", "<<", "---", "...", "é", "日本語", "😀",
			"\u0085", "\u00a0", "\u2028", "\ufeff", "\x1b", "\x7f", "cat <<EOF\n  $x\nEOF\n", "[", "]", "{", "}", ",", "?", "a", "word",
		}),
		rapid.StringN(0, 5, 20),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(t, "pieces"), "")
	})
}

func TestWriteThenRead_IsByteForByteWhatWasAsked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := &bootstrapv1.KubeadmConfigSpec{
			BootCommands:        rapid.SliceOfN(nasty(), 0, 3).Draw(t, "boot"),
			PreKubeadmCommands:  rapid.SliceOfN(nasty(), 0, 3).Draw(t, "pre"),
			PostKubeadmCommands: rapid.SliceOfN(nasty(), 0, 3).Draw(t, "post"),
			Mounts:              []bootstrapv1.MountPoints{rapid.SliceOfN(nasty(), 1, 4).Draw(t, "mount")},
		}
		files, want := drawFiles(t)
		user := bootstrapv1.User{Name: "u" + nasty().Draw(t, "user"), Passwd: nasty().Draw(t, "passwd"), SSHAuthorizedKeys: []string{nasty().Draw(t, "key")}}
		kubeadm := nasty().Draw(t, "kubeadm")
		in := cloudinit.Input{Phase: cloudinit.Join, Kubeadm: []byte(kubeadm), Files: files, Users: []bootstrapv1.User{user}, Spec: spec}
		text, err := cloudinit.Write(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := cloudinit.Read(text, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		check := func(what string, want, have any) {
			if diff := cmp.Diff(want, have, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s (-asked +read):\n%s\n%s", what, diff, text)
			}
		}
		check("boot commands", lines(spec.BootCommands), got.BootCommands)
		check("commands", lines(spec.PreKubeadmCommands, []string{cloudinit.Join.Command(nil)}, spec.PostKubeadmCommands), got.RunCommands)
		check("mounts", [][]string{spec.Mounts[0]}, got.Mounts)
		check("users", []cloudinit.User{{Name: user.Name, Passwd: user.Passwd, SSHAuthorizedKeys: user.SSHAuthorizedKeys}}, got.Users)
		for path, content := range want {
			have, _ := got.Content(path)
			check(path, content, have)
		}
		have, _ := got.Content(cloudinit.JoinConfigPath)
		check("kubeadm configuration", []byte(kubeadm), have)
		crossCheck(t, text, got)
	})
}

// crossCheck reads the same text with another YAML library, where it is no template.
func crossCheck(t *rapid.T, text []byte, got *cloudinit.Config) {
	if bytes.HasPrefix(text, []byte(cloudinit.TemplateLine)) {
		return
	}
	var other struct {
		Runcmd []string `json:"runcmd"`
	}
	if err := yaml.Unmarshal(text, &other); err != nil {
		t.Fatalf("second reader: %v\n%s", err, text)
	}
	if diff := cmp.Diff(lines(other.Runcmd), got.RunCommands); diff != "" {
		t.Fatalf("the readers differ (-second +ours):\n%s", diff)
	}
}

func lines(groups ...[]string) []cloudinit.Command {
	var out []cloudinit.Command
	for _, g := range groups {
		for _, line := range g {
			out = append(out, cloudinit.Command{Line: line})
		}
	}
	return out
}

// drawFiles draws one file of each encoding and what its content is once decoded.
func drawFiles(t *rapid.T) ([]bootstrapv1.File, map[string][]byte) {
	var files []bootstrapv1.File
	want := map[string][]byte{}
	for _, f := range []bootstrapv1.File{
		{Path: "/plain"}, {Path: "/b64", Encoding: bootstrapv1.Base64}, {Path: "/gz", Encoding: bootstrapv1.Gzip},
		{Path: "/gzb64", Encoding: bootstrapv1.GzipBase64}, {Path: "/binary"},
	} {
		path, encoding := f.Path, f.Encoding
		content := []byte(nasty().Draw(t, path))
		if path == "/binary" {
			content = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		}
		files = append(files, bootstrapv1.File{Path: path, Encoding: encoding, Content: encoded(content, encoding)})
		want[path] = content
	}
	return files, want
}

func encoded(content []byte, e bootstrapv1.Encoding) string {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(content)
	_ = w.Close()
	switch e {
	case bootstrapv1.Base64:
		return base64.StdEncoding.EncodeToString(content)
	case bootstrapv1.Gzip:
		return packed.String()
	case bootstrapv1.GzipBase64:
		return base64.StdEncoding.EncodeToString(packed.Bytes())
	default:
		return string(content)
	}
}
