package webhooks_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// kubeadmMistakes are those of a KubeadmConfigSpec, wherever it stands.
func kubeadmMistakes() []struct {
	name string
	edit func(*bootstrapv1.KubeadmConfigSpec)
	want string
} {
	return []struct {
		name string
		edit func(*bootstrapv1.KubeadmConfigSpec)
		want string
	}{
		{"path twice", func(s *bootstrapv1.KubeadmConfigSpec) {
			s.Files = []bootstrapv1.File{{Path: "/a", Content: "1"}, {Path: "/b", Content: "1"}, {Path: "/a", Content: "2"}}
		}, `files[2].path: Invalid value: "/a": files[0] has the same path: give each file a path of its own`},
		{"two contents", func(s *bootstrapv1.KubeadmConfigSpec) {
			s.Files = []bootstrapv1.File{{Path: "/a", Content: "1", ContentFrom: bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: "s", Key: "k"}}}}
		}, `files[0]: Invalid value: "/a": content and contentFrom are both set: keep the one that the file is to have`},
		{"two passwords", func(s *bootstrapv1.KubeadmConfigSpec) {
			s.Users = []bootstrapv1.User{{Name: "me", Passwd: "secret", PasswdFrom: bootstrapv1.PasswdSource{Secret: bootstrapv1.SecretPasswdSource{Name: "s", Key: "k"}}}}
		}, `users[0]: Invalid value: "me": passwd and passwdFrom are both set: keep one of them`},
		{"more than a disk", func(s *bootstrapv1.KubeadmConfigSpec) {
			s.DiskSetup.Partitions = []bootstrapv1.Partition{{Device: "/dev/sda", DiskLayout: []bootstrapv1.PartitionSpec{{Percentage: 60}, {Percentage: 41}}}}
		}, `diskSetup.partitions[0].diskLayout: Invalid value: 101: the percentages add up to more than the whole disk: make their sum 100 or less`},
		{"two timeouts", func(s *bootstrapv1.KubeadmConfigSpec) {
			s.InitConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = new(int32(1))
			s.JoinConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = new(int32(2))
		}, `joinConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds: Invalid value: 2: initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds is 1: write the same number in both`},
		{"two ways of authenticating", func(s *bootstrapv1.KubeadmConfigSpec) {
			s.JoinConfiguration.Discovery.File.KubeConfig.User = bootstrapv1.KubeConfigUser{
				AuthProvider: bootstrapv1.KubeConfigAuthProvider{Name: "p"}, Exec: bootstrapv1.KubeConfigAuthExec{Command: "c"},
			}
		}, `joinConfiguration.discovery.file.kubeConfig.user: Invalid value: "c": authProvider and exec are both set: keep one way of authenticating`},
	}
}

func TestKubeadmConfigSpec_RulesHoldWhereverItStands(t *testing.T) {
	t.Parallel()
	rows := []row{
		{name: "good config", obj: kubeadmConfig()}, {name: "good template", obj: configTemplate()},
		{name: "good control plane", obj: controlPlane()}, {name: "good control plane template", obj: controlPlaneTemplate()},
	}
	for _, m := range kubeadmMistakes() {
		rows = append(rows,
			row{name: m.name + " in a config", obj: kubeadmConfig(func(k *bootstrapv1.KubeadmConfig) { m.edit(&k.Spec) }), want: []string{"spec." + m.want}},
			row{name: m.name + " in a template", obj: configTemplate(func(k *bootstrapv1.KubeadmConfigTemplate) { m.edit(&k.Spec.Template.Spec) }), want: []string{"spec.template.spec." + m.want}},
			row{name: m.name + " in a control plane", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) { m.edit(&k.Spec.KubeadmConfigSpec) }), want: []string{"spec.kubeadmConfigSpec." + m.want}},
			row{name: m.name + " in a control plane template", obj: controlPlaneTemplate(func(k *controlplanev1.KubeadmControlPlaneTemplate) {
				m.edit(&k.Spec.Template.Spec.KubeadmConfigSpec)
			}), want: []string{"spec.template.spec.kubeadmConfigSpec." + m.want}},
		)
	}
	checkRows(t, rows)
}

func TestControlPlane_Rules(t *testing.T) {
	t.Parallel()
	replicas := func(n int32) *controlplanev1.KubeadmControlPlane {
		return controlPlane(func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Replicas = &n })
	}
	surge := func(n int32, s intstr.IntOrString) *controlplanev1.KubeadmControlPlane {
		return controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.Replicas, k.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = &n, &s
		})
	}
	config := func(edit func(*bootstrapv1.ClusterConfiguration)) *controlplanev1.KubeadmControlPlane {
		return controlPlane(func(k *controlplanev1.KubeadmControlPlane) { edit(&k.Spec.KubeadmConfigSpec.ClusterConfiguration) })
	}
	external := bootstrapv1.ExternalEtcd{Endpoints: []string{"https://e:2379"}, CAFile: "/ca", CertFile: "/c", KeyFile: "/k"}
	checkRows(t, []row{
		{name: "one", obj: replicas(1)},
		{name: "five", obj: replicas(5)},
		{name: "two with external etcd", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.Replicas, k.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.External = new(int32(2)), external
		})},
		{name: "two", obj: replicas(2), want: []string{
			"spec.replicas: Invalid value: 2: each control plane machine runs a member of etcd, and 2 members survive the loss of no more of them than 1 do: write 1 or 3",
		}},
		{name: "none", obj: replicas(0), want: []string{"spec.replicas: Invalid value: 0: a cluster needs a control plane: write 1, 3 or 5, or delete the Cluster"}},
		{name: "negative", obj: replicas(-1), want: []string{"spec.replicas: Invalid value: -1: the number of control plane machines cannot be negative: write 1, 3 or 5"}},
		{name: "no surge", obj: surge(3, intstr.FromInt32(0))},
		{name: "surge as text", obj: surge(3, intstr.FromString("1"))},
		{name: "no surge with one", obj: surge(1, intstr.FromInt32(0)), want: []string{
			`spec.rollout.strategy.rollingUpdate.maxSurge: Invalid value: "0": with maxSurge 0 a control plane machine is removed before its replacement is there, which takes at least 3 of them: write 1, or raise spec.replicas to 3`,
		}},
		{name: "surge of two", obj: surge(3, intstr.FromInt32(2)), want: []string{
			`spec.rollout.strategy.rollingUpdate.maxSurge: Invalid value: "2": control plane machines are replaced one at a time: write 1, or 0 to remove each before its replacement is made`,
		}},
		{name: "surge in percent", obj: surge(3, intstr.FromString("50%")), want: []string{
			`spec.rollout.strategy.rollingUpdate.maxSurge: Invalid value: "50%": control plane machines are replaced one at a time: write 1, or 0 to remove each before its replacement is made`,
		}},
		{name: "no template", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.MachineTemplate.Spec.InfrastructureRef.Kind = "SimMachine"
		}), want: []string{
			`spec.machineTemplate.spec.infrastructureRef.kind: Invalid value: "SimMachine": each Machine gets an object of its own, made from a template: refer to a template, such as a SimMachineTemplate`,
		}},
		{name: "control plane taint", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.MachineTemplate.Spec.Taints = taint("node-role.kubernetes.io/control-plane")
		})},
		{name: "forbidden taint", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.MachineTemplate.Spec.Taints = taint("node.cluster.x-k8s.io/uninitialized")
		}), want: []string{
			`spec.machineTemplate.spec.taints[0].key: Invalid value: "node.cluster.x-k8s.io/uninitialized": this taint is set and removed by the controllers: use another key`,
		}},
		{name: "malformed version", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Version = "v1.37" }), want: []string{
			`spec.version: Invalid value: "v1.37": version "v1.37" is not a Kubernetes version: it lacks the patch number; write all three, as v1.37.0`,
		}},
		{name: "name template", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.MachineNaming.Template = "{{ .kubeadmControlPlane.name }}"
		}), want: []string{
			`spec.machineNaming.template: Invalid value: "{{ .kubeadmControlPlane.name }}": name template "{{ .kubeadmControlPlane.name }}" gives every Machine the same name: add {{ .random }}`,
		}},
		{name: "image tags", obj: config(func(c *bootstrapv1.ClusterConfiguration) { c.DNS.ImageTag, c.Etcd.Local.ImageTag = "v1.11+x", "-1" }), want: []string{
			`spec.kubeadmConfigSpec.clusterConfiguration.dns.imageTag: Invalid value: "v1.11+x": not an image tag: write at most 128 letters, digits, '_', '.' and '-', and begin with a letter, a digit or '_'`,
			`spec.kubeadmConfigSpec.clusterConfiguration.etcd.local.imageTag: Invalid value: "-1": not an image tag: write at most 128 letters, digits, '_', '.' and '-', and begin with a letter, a digit or '_'`,
		}},
		{name: "both etcds", obj: config(func(c *bootstrapv1.ClusterConfiguration) {
			c.Etcd = bootstrapv1.Etcd{Local: bootstrapv1.LocalEtcd{DataDir: "/d"}, External: external}
		}), want: []string{
			`spec.kubeadmConfigSpec.clusterConfiguration.etcd: Invalid value: "local, external": etcd runs either on the control plane machines or elsewhere: keep local or external`,
		}},
		{name: "certificates that outlive the default CA", obj: config(func(c *bootstrapv1.ClusterConfiguration) { c.CertificateValidityPeriodDays = 3651 }), want: []string{
			"spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays: Invalid value: 3651: a certificate cannot outlive its CA, which lives for 3650 days: write 3650 or less",
		}},
		{name: "certificates that always expire soon", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.Rollout.Before.CertificatesExpiryDays, k.Spec.KubeadmConfigSpec.ClusterConfiguration.CertificateValidityPeriodDays = 30, 30
		}), want: []string{
			"spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays: Invalid value: 30: machines are replaced 30 days before their certificates expire (spec.rollout.before), which would be always: write more than 30",
		}},
	})
}

func TestControlPlane_ChangesOfItsConfiguration(t *testing.T) {
	t.Parallel()
	const prefix = "spec.kubeadmConfigSpec.clusterConfiguration."
	var rows []row
	for _, part := range reflect.VisibleFields(reflect.TypeFor[bootstrapv1.KubeadmConfigSpec]()) {
		if part.Name == "ClusterConfiguration" || part.Name == "Format" || part.Name == "Ignition" {
			continue
		}
		obj := controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			fill(reflect.ValueOf(&k.Spec.KubeadmConfigSpec).Elem().FieldByIndex(part.Index))
		})
		rows = append(rows, row{name: part.Name, obj: obj, old: controlPlane()})
	}
	for _, part := range reflect.VisibleFields(reflect.TypeFor[bootstrapv1.ClusterConfiguration]()) {
		if part.Name == "Etcd" {
			continue
		}
		obj := controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			fill(reflect.ValueOf(&k.Spec.KubeadmConfigSpec.ClusterConfiguration).Elem().FieldByIndex(part.Index))
		})
		r := row{name: "clusterConfiguration " + part.Name, obj: obj, old: controlPlane()}
		switch part.Name {
		case "ControlPlaneEndpoint":
			r.want = []string{prefix + `controlPlaneEndpoint: Forbidden: the machines that run were made without it, and it cannot be set under them: leave it out`}
		case "CertificatesDir":
			r.want = []string{prefix + `certificatesDir: Forbidden: the machines that run were made without it, and it cannot be set under them: leave it out`}
		case "CACertificateValidityPeriodDays":
			r.want = []string{prefix + `caCertificateValidityPeriodDays: Forbidden: the machines that run were made without it, and it cannot be set under them: leave it out`}
		}
		rows = append(rows, r)
	}
	rows = append(rows,
		row{name: "local etcd", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.Local.ImageTag = "3.7.3"
		}), old: controlPlane()},
		row{name: "local to external etcd", obj: controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.External.Endpoints = []string{"https://e:2379"}
		}), old: controlPlane(), want: []string{
			prefix + "etcd: Forbidden: the cluster's data does not move between local and external etcd: put etcd back as it was, or create another Cluster",
		}},
	)
	checkRows(t, rows)
}

func TestControlPlane_WhatItsMachinesWereMadeWithIsNamed(t *testing.T) {
	t.Parallel()
	set := func(dir string) *controlplanev1.KubeadmControlPlane {
		return controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
			k.Spec.KubeadmConfigSpec.ClusterConfiguration.CertificatesDir = dir
		})
	}
	want := []string{`spec.kubeadmConfigSpec.clusterConfiguration.certificatesDir: Forbidden: the machines that run were made with "/pki", and this cannot be changed under them: put it back`}
	if diff := cmp.Diff(want, refusals(ask(t, "validate", set("/other"), set("/pki")))); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

// fill sets a value to something other than zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				fill(f)
				return
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.String:
		v.SetString("a")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(1)
	default:
		panic(fmt.Sprintf("no value for a %s", v.Type()))
	}
}

func TestControlPlane_VersionGoesOneMinorAtATime(t *testing.T) {
	t.Parallel()
	change := func(from, to string, running ...string) (obj, old *controlplanev1.KubeadmControlPlane) {
		at := func(v string) *controlplanev1.KubeadmControlPlane {
			return controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
				k.Spec.Version = v
				for _, r := range running {
					k.Status.Versions = append(k.Status.Versions, clusterv1.StatusVersion{Version: r, Replicas: new(int32(1))})
				}
			})
		}
		return at(to), at(from)
	}
	var rows []row
	for _, r := range []struct {
		name, from, to string
		running        []string
		want           string
	}{
		{name: "patch", from: "v1.36.1", to: "v1.36.5", running: []string{"v1.36.1"}},
		{name: "patch down", from: "v1.36.5", to: "v1.36.1", running: []string{"v1.36.5"}},
		{name: "minor", from: "v1.36.1", to: "v1.37.2", running: []string{"v1.36.1"}},
		{name: "nothing runs yet", from: "v1.36.1", to: "v1.37.2"},
		{name: "two minors", from: "v1.35.1", to: "v1.37.2", running: []string{"v1.35.1"},
			want: "cannot go from v1.35.1 to v1.37.2 at once: minor versions go up one at a time; upgrade to v1.36 first"},
		{name: "down", from: "v1.37.2", to: "v1.36.5", running: []string{"v1.37.2"},
			want: "cannot go from v1.37.2 down to v1.36.5: Kubernetes does not support downgrades; choose v1.37.2 or later"},
		{name: "taken back before any machine had it", from: "v1.37.2", to: "v1.36.5", running: []string{"v1.36.5"}},
		{name: "taken back after one machine had it", from: "v1.37.2", to: "v1.36.5", running: []string{"v1.36.5", "v1.37.2"},
			want: "cannot go from v1.37.2 down to v1.36.5: Kubernetes does not support downgrades; choose v1.37.2 or later"},
		{name: "further while an upgrade is under way", from: "v1.36.5", to: "v1.37.2", running: []string{"v1.35.1", "v1.36.5"},
			want: "cannot go from v1.35.1 to v1.37.2 at once: minor versions go up one at a time; upgrade to v1.36 first"},
		{name: "from a malformed version", from: "v1.37", to: "v1.37.2"},
	} {
		obj, old := change(r.from, r.to, r.running...)
		next := row{name: r.name, obj: obj, old: old}
		if r.want != "" {
			next.want = []string{fmt.Sprintf("spec.version: Invalid value: %q: %s", r.to, r.want)}
		}
		rows = append(rows, next)
	}
	checkRows(t, rows)
}

func TestControlPlaneTemplate_CannotBeChanged(t *testing.T) {
	t.Parallel()
	checkRows(t, []row{
		{name: "metadata", obj: controlPlaneTemplate(func(k *controlplanev1.KubeadmControlPlaneTemplate) {
			k.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b"}
		}), old: controlPlaneTemplate()},
		{name: "a default spelled out", obj: controlPlaneTemplate(func(k *controlplanev1.KubeadmControlPlaneTemplate) {
			k.Spec.Template.Spec.Rollout = controlPlaneRollout(1)
		}), old: controlPlaneTemplate()},
		{name: "spec", obj: controlPlaneTemplate(func(k *controlplanev1.KubeadmControlPlaneTemplate) {
			k.Spec.Template.Spec.KubeadmConfigSpec.Verbosity = new(int32(5))
		}), old: controlPlaneTemplate(), want: []string{
			"spec.template.spec: Forbidden: a template cannot be changed while others may rely on it: create a template under another name and refer to that",
		}},
	})
}
