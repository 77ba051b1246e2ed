package webhooks

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/plan"
)

const (
	// defaultCAValidityDays is how long a CA lives unless the control plane says.
	defaultCAValidityDays = 3650
	// kubeadmValidityDays is how long kubeadm's certificates live unless the control plane says.
	kubeadmValidityDays = 365
	// surgelessReplicas is how many control plane machines it takes to do without one while it is replaced.
	surgelessReplicas = 3
)

// controlPlaneLacks is true of a KubeadmControlPlane that defaultControlPlane would change.
const controlPlaneLacks = `!object.?spec.?replicas.hasValue()
|| object.?spec.?version.orValue("v").matches("^[0-9]")
|| !object.?spec.?rollout.?strategy.?type.hasValue()
|| !object.?spec.?rollout.?strategy.?rollingUpdate.?maxSurge.hasValue()`

func kubeadmControlPlaneWebhooks(reader client.Reader) []Webhook {
	k := kind{version: controlplanev1.GroupVersion, singular: "kubeadmcontrolplane", plural: "kubeadmcontrolplanes"}
	return []Webhook{
		defaulting(k, controlPlaneLacks, defaultControlPlane),
		validating(k, changed, validator[controlplanev1.KubeadmControlPlaneSpec]{
			check: checkControlPlane, change: changeControlPlane, warn: warnControlPlane,
		}),
		scaleWebhook(k, reader),
	}
}

func defaultControlPlane(o, _ *object[controlplanev1.KubeadmControlPlaneSpec]) *field.Error {
	s := &o.Spec
	if s.Replicas == nil {
		s.Replicas = new(int32(1))
	}
	s.Version = plan.NormalizeVersion(s.Version)
	defaultControlPlaneRollout(&s.Rollout)
	return nil
}

func defaultControlPlaneRollout(r *controlplanev1.KubeadmControlPlaneRolloutSpec) {
	if r.Strategy.Type == "" {
		r.Strategy.Type = controlplanev1.RollingUpdateStrategyType
	}
	if r.Strategy.RollingUpdate.MaxSurge == nil {
		r.Strategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(1))
	}
}

func checkControlPlane(o *object[controlplanev1.KubeadmControlPlaneSpec]) field.ErrorList {
	at, s := field.NewPath("spec"), &o.Spec
	errs := checkVersion(at.Child("version"), s.Version)
	if s.Replicas != nil {
		errs = append(errs, checkControlPlaneReplicas(at.Child("replicas"), *s.Replicas, s.KubeadmConfigSpec.ClusterConfiguration.Etcd)...)
	}
	machines := at.Child("machineTemplate")
	errs = append(errs, checkTemplateMeta(machines.Child("metadata"), s.MachineTemplate.ObjectMeta)...)
	errs = append(errs, checkTemplateKind(machines.Child("spec", "infrastructureRef"), s.MachineTemplate.Spec.InfrastructureRef)...)
	errs = append(errs, checkTaints(machines.Child("spec", "taints"), s.MachineTemplate.Spec.Taints, true)...)
	errs = append(errs, checkSurge(at.Child("rollout", "strategy", "rollingUpdate", "maxSurge"), s.Rollout, s.Replicas)...)
	errs = append(errs, checkControlPlaneParts(at, &controlPlaneParts{
		config: &s.KubeadmConfigSpec, rollout: s.Rollout, naming: s.MachineNaming, remediation: s.Remediation,
	})...)
	return errs
}

// checkControlPlaneReplicas keeps etcd able to decide: each of its members runs on a control plane machine, and an even
// number survives no more failures than the odd one below it.
func checkControlPlaneReplicas(at *field.Path, replicas int32, etcd bootstrapv1.Etcd) field.ErrorList {
	switch {
	case replicas < 0:
		return field.ErrorList{field.Invalid(at, replicas, "the number of control plane machines cannot be negative: write 1, 3 or 5")}
	case replicas == 0:
		return field.ErrorList{field.Invalid(at, replicas, "a cluster needs a control plane: write 1, 3 or 5, or delete the Cluster")}
	case replicas%2 == 0 && len(etcd.External.Endpoints) == 0:
		return field.ErrorList{field.Invalid(at, replicas, fmt.Sprintf(
			"each control plane machine runs a member of etcd, and %d members survive the loss of no more of them than %d do: write %d or %d",
			replicas, replicas-1, replicas-1, replicas+1))}
	}
	return nil
}

func checkSurge(at *field.Path, r controlplanev1.KubeadmControlPlaneRolloutSpec, replicas *int32) field.ErrorList {
	surge := r.Strategy.RollingUpdate.MaxSurge
	if surge == nil {
		return nil
	}
	switch surge.String() {
	case "1":
		return nil
	case "0":
		if replicas == nil || *replicas >= surgelessReplicas {
			return nil
		}
		return field.ErrorList{field.Invalid(at, surge.String(), fmt.Sprintf(
			"with maxSurge 0 a control plane machine is removed before its replacement is there, which takes at least %d of them: write 1, or raise spec.replicas to %d",
			surgelessReplicas, surgelessReplicas))}
	}
	return field.ErrorList{field.Invalid(at, surge.String(), "control plane machines are replaced one at a time: write 1, or 0 to remove each before its replacement is made")}
}

// controlPlaneParts is what a KubeadmControlPlane and its template have in common.
type controlPlaneParts struct {
	config      *bootstrapv1.KubeadmConfigSpec
	rollout     controlplanev1.KubeadmControlPlaneRolloutSpec
	naming      controlplanev1.MachineNamingSpec
	remediation controlplanev1.KubeadmControlPlaneRemediationSpec
}

func checkControlPlaneParts(at *field.Path, p *controlPlaneParts) field.ErrorList {
	errs := checkNaming(at.Child("machineNaming", "template"), p.naming.Template, plan.KubeadmControlPlaneOwner)
	errs = append(errs, checkKubeadmConfig(at.Child("kubeadmConfigSpec"), p.config)...)
	errs = append(errs, checkClusterConfiguration(at.Child("kubeadmConfigSpec", "clusterConfiguration"), &p.config.ClusterConfiguration, p.rollout)...)
	if p.remediation != (controlplanev1.KubeadmControlPlaneRemediationSpec{}) {
		errs = append(errs, notActedOn(at.Child("remediation"), "control plane machines are not remediated"))
	}
	return errs
}

func checkClusterConfiguration(at *field.Path, c *bootstrapv1.ClusterConfiguration, r controlplanev1.KubeadmControlPlaneRolloutSpec) field.ErrorList {
	errs := checkImageTag(at.Child("dns", "imageTag"), c.DNS.ImageTag)
	errs = append(errs, checkImageTag(at.Child("etcd", "local", "imageTag"), c.Etcd.Local.ImageTag)...)
	if isLocal(c.Etcd) && isExternal(c.Etcd) {
		errs = append(errs, field.Invalid(at.Child("etcd"), "local, external",
			"etcd runs either on the control plane machines or elsewhere: keep local or external"))
	}
	valid, caValid := c.CertificateValidityPeriodDays, c.CACertificateValidityPeriodDays
	if caValid == 0 {
		caValid = defaultCAValidityDays
	}
	if valid > caValid {
		errs = append(errs, field.Invalid(at.Child("certificateValidityPeriodDays"), valid,
			fmt.Sprintf("a certificate cannot outlive its CA, which lives for %d days: write %d or less", caValid, caValid)))
	}
	if before := r.Before.CertificatesExpiryDays; valid > 0 && before >= valid {
		errs = append(errs, field.Invalid(at.Child("certificateValidityPeriodDays"), valid,
			fmt.Sprintf("machines are replaced %d days before their certificates expire (spec.rollout.before), which would be always: write more than %d", before, before)))
	}
	return errs
}

func isLocal(e bootstrapv1.Etcd) bool {
	l := e.Local
	return l.ImageRepository != "" || l.ImageTag != "" || l.DataDir != "" ||
		len(l.ExtraArgs)+len(l.ExtraEnvs)+len(l.ServerCertSANs)+len(l.PeerCertSANs) > 0
}

func isExternal(e bootstrapv1.Etcd) bool { return len(e.External.Endpoints) > 0 }

// changeControlPlane holds to what can be changed on a running control plane. All else of the spec can.
func changeControlPlane(o, old *object[controlplanev1.KubeadmControlPlaneSpec]) field.ErrorList {
	at := field.NewPath("spec", "kubeadmConfigSpec", "clusterConfiguration")
	c, was := &o.Spec.KubeadmConfigSpec.ClusterConfiguration, &old.Spec.KubeadmConfigSpec.ClusterConfiguration
	var errs field.ErrorList
	for _, f := range []struct {
		name    string
		is, was any
	}{
		{"certificatesDir", c.CertificatesDir, was.CertificatesDir},
		{"controlPlaneEndpoint", c.ControlPlaneEndpoint, was.ControlPlaneEndpoint},
		{"caCertificateValidityPeriodDays", c.CACertificateValidityPeriodDays, was.CACertificateValidityPeriodDays},
	} {
		if f.is != f.was {
			errs = append(errs, field.Forbidden(at.Child(f.name), madeWith(f.was)))
		}
	}
	if isExternal(c.Etcd) != isExternal(was.Etcd) {
		errs = append(errs, field.Forbidden(at.Child("etcd"), "the cluster's data does not move between local and external etcd: put etcd back as it was, or create another Cluster"))
	}
	return append(errs, changeVersion(o, old)...)
}

// madeWith says why a setting that machines were made with stays, and what to do.
func madeWith(was any) string {
	if was == "" || was == int32(0) {
		return "the machines that run were made without it, and it cannot be set under them: leave it out"
	}
	return fmt.Sprintf("the machines that run were made with %#v, and this cannot be changed under them: put it back", was)
}

// changeVersion checks a change of version against the versions that run: what no Machine runs yet can be taken back, and
// while an upgrade is under way the oldest Machine decides how far the next step goes.
func changeVersion(o, old *object[controlplanev1.KubeadmControlPlaneSpec]) field.ErrorList {
	to := o.Spec.Version
	if to == old.Spec.Version {
		return nil
	}
	if _, err := plan.ParseVersion(to); err != nil {
		return nil // checkControlPlane has said so.
	}
	running := runningVersions(old)
	if len(running) == 0 {
		return nil // The stored version is malformed, or nothing runs yet: any version is better or as good.
	}
	for _, from := range slices.Compact([]string{running[len(running)-1].Version, running[0].Version}) {
		if err := plan.CheckUpgrade(from, to); err != nil {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "version"), to, err.Error())}
		}
	}
	return nil
}

// runningVersions returns the versions that Machines run in ascending order; until they are counted, the stored one.
func runningVersions(old *object[controlplanev1.KubeadmControlPlaneSpec]) []plan.VersionCount {
	versions := make([]string, 0, len(old.Status.Versions)+1)
	for _, v := range old.Status.Versions {
		versions = append(versions, v.Version)
	}
	if len(versions) == 0 {
		versions = append(versions, old.Spec.Version)
	}
	return slices.DeleteFunc(plan.AggregateVersions(versions), func(v plan.VersionCount) bool {
		_, err := plan.ParseVersion(v.Version)
		return err != nil
	})
}

func warnControlPlane(o, old *object[controlplanev1.KubeadmControlPlaneSpec]) []string {
	var warnings []string
	valid := o.Spec.KubeadmConfigSpec.ClusterConfiguration.CertificateValidityPeriodDays
	if before := o.Spec.Rollout.Before.CertificatesExpiryDays; valid == 0 && before >= kubeadmValidityDays {
		warnings = append(warnings, fmt.Sprintf("spec.rollout.before.certificatesExpiryDays is %d, and kubeadm's certificates live for %d days: "+
			"machines would be replaced for ever; write less, such as 30, or set spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays to more than %d",
			before, kubeadmValidityDays, before))
	}
	if old != nil && o.Spec.Version != old.Spec.Version {
		warnings = append(warnings, "spec.version changes the machines; kube-proxy and CoreDNS stay as they are in this version of Slipway: "+
			"once all machines have the version, change the images of daemonset kube-system/kube-proxy and deployment kube-system/coredns in the cluster itself")
	}
	if old != nil && o.Spec.KubeadmConfigSpec.ClusterConfiguration.DNS != old.Spec.KubeadmConfigSpec.ClusterConfiguration.DNS {
		warnings = append(warnings, "spec.kubeadmConfigSpec.clusterConfiguration.dns is stored, but "+nothingActs+
			" once the control plane is initialized: change the image of deployment kube-system/coredns in the cluster itself")
	}
	return warnings
}
