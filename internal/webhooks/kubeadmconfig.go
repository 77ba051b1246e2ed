package webhooks

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// KubeadmConfigs get no defaults: one that a KubeadmControlPlane's configuration did not get too would make every control
// plane machine look out of date.
func kubeadmConfigWebhooks() []Webhook {
	k := kind{version: bootstrapv1.GroupVersion, singular: "kubeadmconfig", plural: "kubeadmconfigs"}
	return []Webhook{validating(k, changed, validator[bootstrapv1.KubeadmConfigSpec]{
		check: func(o *object[bootstrapv1.KubeadmConfigSpec]) field.ErrorList {
			return checkKubeadmConfig(field.NewPath("spec"), &o.Spec)
		},
	})}
}

func kubeadmConfigTemplateWebhooks() []Webhook {
	k := kind{version: bootstrapv1.GroupVersion, singular: "kubeadmconfigtemplate", plural: "kubeadmconfigtemplates"}
	return []Webhook{validating(k, changed, validator[bootstrapv1.KubeadmConfigTemplateSpec]{
		check: func(o *object[bootstrapv1.KubeadmConfigTemplateSpec]) field.ErrorList {
			at := field.NewPath("spec", "template")
			errs := checkTemplateMeta(at.Child("metadata"), o.Spec.Template.ObjectMeta)
			return append(errs, checkKubeadmConfig(at.Child("spec"), &o.Spec.Template.Spec)...)
		},
	})}
}

func checkKubeadmConfig(at *field.Path, s *bootstrapv1.KubeadmConfigSpec) field.ErrorList {
	errs := checkFiles(at.Child("files"), s.Files)
	errs = append(errs, checkUsers(at.Child("users"), s.Users)...)
	errs = append(errs, checkPartitions(at.Child("diskSetup", "partitions"), s.DiskSetup.Partitions)...)
	errs = append(errs, checkTimeouts(at, s)...)
	errs = append(errs, checkDiscovery(at.Child("joinConfiguration", "discovery"), s.JoinConfiguration.Discovery)...)
	if s.Format == bootstrapv1.Ignition {
		errs = append(errs, notActedOn(at.Child("format"), "bootstrap data is written as cloud-config only"))
	}
	if s.Ignition != (bootstrapv1.IgnitionSpec{}) {
		errs = append(errs, notActedOn(at.Child("ignition"), "bootstrap data is written as cloud-config only"))
	}
	return errs
}

func checkFiles(at *field.Path, files []bootstrapv1.File) field.ErrorList {
	var errs field.ErrorList
	first := make(map[string]int, len(files))
	for i, file := range files {
		here := at.Index(i)
		if file.Content != "" && file.ContentFrom != (bootstrapv1.FileSource{}) {
			errs = append(errs, field.Invalid(here, file.Path, "content and contentFrom are both set: keep the one that the file is to have"))
		}
		if j, twice := first[file.Path]; twice {
			errs = append(errs, field.Invalid(here.Child("path"), file.Path, fmt.Sprintf("files[%d] has the same path: give each file a path of its own", j)))
			continue
		}
		first[file.Path] = i
	}
	return errs
}

func checkUsers(at *field.Path, users []bootstrapv1.User) field.ErrorList {
	var errs field.ErrorList
	for i, user := range users {
		if user.Passwd != "" && user.PasswdFrom != (bootstrapv1.PasswdSource{}) {
			// The password stays out of the sentence.
			errs = append(errs, field.Invalid(at.Index(i), user.Name, "passwd and passwdFrom are both set: keep one of them"))
		}
	}
	return errs
}

func checkPartitions(at *field.Path, partitions []bootstrapv1.Partition) field.ErrorList {
	var errs field.ErrorList
	for i, partition := range partitions {
		var sum int64
		for _, part := range partition.DiskLayout {
			sum += int64(part.Percentage)
		}
		if sum > 100 {
			errs = append(errs, field.Invalid(at.Index(i).Child("diskLayout"), sum, "the percentages add up to more than the whole disk: make their sum 100 or less"))
		}
	}
	return errs
}

// checkTimeouts wants one waiting time for the control plane's components: machines are compared in the form in which they
// join, so one that only init had would be lost in it.
func checkTimeouts(at *field.Path, s *bootstrapv1.KubeadmConfigSpec) field.ErrorList {
	atInit := s.InitConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds
	atJoin := s.JoinConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds
	if atInit == nil || atJoin == nil || *atInit == *atJoin {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("joinConfiguration", "timeouts", "controlPlaneComponentHealthCheckSeconds"), *atJoin,
		fmt.Sprintf("initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds is %d: write the same number in both", *atInit))}
}

// checkDiscovery wants one way of finding the cluster, as kubeadm does, and one way of authenticating to it.
func checkDiscovery(at *field.Path, d bootstrapv1.Discovery) field.ErrorList {
	var errs field.ErrorList
	if d.File.KubeConfigPath != "" && !equality.Semantic.DeepEqual(d.BootstrapToken, bootstrapv1.BootstrapTokenDiscovery{}) {
		errs = append(errs, field.Forbidden(at.Child("bootstrapToken"),
			"with discovery.file set the machine finds its cluster by the file, and the token would be ignored: keep one of them (for a token beside the file there is discovery.tlsBootstrapToken)"))
	}
	if user := d.File.KubeConfig.User; user.AuthProvider.Name != "" && user.Exec.Command != "" {
		errs = append(errs, field.Invalid(at.Child("file", "kubeConfig", "user"), user.Exec.Command, "authProvider and exec are both set: keep one way of authenticating"))
	}
	return errs
}

// checkImageTag refuses what a container registry would refuse.
func checkImageTag(at *field.Path, tag string) field.ErrorList {
	if tag == "" || len(tag) <= maxImageTag && strings.Trim(tag, imageTagCharacters) == "" && !strings.ContainsAny(tag[:1], ".-") {
		return nil
	}
	return field.ErrorList{field.Invalid(at, tag,
		fmt.Sprintf("not an image tag: write at most %d letters, digits, '_', '.' and '-', and begin with a letter, a digit or '_'", maxImageTag))}
}

const (
	maxImageTag        = 128
	imageTagCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
)
