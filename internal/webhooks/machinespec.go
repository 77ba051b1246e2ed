package webhooks

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/plan"
)

const (
	// nodeDeletionTimeoutSeconds is how long the deletion of a Machine's Node is retried unless the Machine says.
	nodeDeletionTimeoutSeconds = 10

	controlPlaneRole = "node-role.kubernetes.io/control-plane"
	masterRole       = "node-role.kubernetes.io/master"
	outOfService     = corev1.TaintNodeOutOfService
	nodeTaintsPrefix = "node.kubernetes.io/"
	cloudTaints      = "node.cloudprovider.kubernetes.io/"
)

// machineUse says what a Machine spec stands for; the rules for kinds and taints differ.
type machineUse int

const (
	singleMachine machineUse = iota
	controlPlaneMachine
	workerTemplate
)

// checkMachineSpec checks the spec of a Machine, or of the Machines that a template makes.
func checkMachineSpec(at *field.Path, s *clusterv1.MachineSpec, use machineUse) field.ErrorList {
	errs := checkBootstrap(at.Child("bootstrap"), s.Bootstrap)
	errs = append(errs, checkVersion(at.Child("version"), s.Version)...)
	errs = append(errs, checkTaints(at.Child("taints"), s.Taints, use == controlPlaneMachine)...)
	kinds := checkObjectKind
	if use == workerTemplate {
		kinds = checkTemplateKind
	}
	errs = append(errs, kinds(at.Child("bootstrap", "configRef"), s.Bootstrap.ConfigRef)...)
	return append(errs, kinds(at.Child("infrastructureRef"), s.InfrastructureRef)...)
}

func checkBootstrap(at *field.Path, b clusterv1.Bootstrap) field.ErrorList {
	if b.ConfigRef.IsDefined() || b.DataSecretName != nil {
		return nil
	}
	return field.ErrorList{field.Required(at,
		`set configRef to a bootstrap configuration, or dataSecretName to the Secret that holds the bootstrap data ("" when the machine needs none)`)}
}

// checkVersion checks a Kubernetes version that may be left out.
func checkVersion(at *field.Path, version string) field.ErrorList {
	if version == "" {
		return nil
	}
	if _, err := plan.ParseVersion(version); err != nil {
		return field.ErrorList{field.Invalid(at, version, err.Error())}
	}
	return nil
}

// checkTemplateKind checks that a reference from which objects are cloned is to a template.
func checkTemplateKind(at *field.Path, ref clusterv1.ContractVersionedObjectReference) field.ErrorList {
	if ref.Kind == "" || strings.HasSuffix(ref.Kind, clusterv1.TemplateSuffix) {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("kind"), ref.Kind,
		fmt.Sprintf("each Machine gets an object of its own, made from a template: refer to a template, such as a %s%s", ref.Kind, clusterv1.TemplateSuffix))}
}

// checkObjectKind checks that a reference to an object that is used as it is does not name a template.
func checkObjectKind(at *field.Path, ref clusterv1.ContractVersionedObjectReference) field.ErrorList {
	kind, isTemplate := strings.CutSuffix(ref.Kind, clusterv1.TemplateSuffix)
	if !isTemplate {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("kind"), ref.Kind,
		fmt.Sprintf("the object itself is wanted here, not a template for it: refer to a %s", kind))}
}

func checkTaints(at *field.Path, taints []clusterv1.MachineTaint, controlPlane bool) field.ErrorList {
	var errs field.ErrorList
	for i, taint := range taints {
		if why := refusedTaint(taint.Key, controlPlane); why != "" {
			errs = append(errs, field.Invalid(at.Index(i).Child("key"), taint.Key, why))
		}
	}
	return errs
}

// refusedTaint returns why a Machine cannot set a taint with that key: somebody else sets and removes it.
func refusedTaint(key string, controlPlane bool) string {
	switch {
	case key == masterRole:
		return "this taint is obsolete: use " + controlPlaneRole + " on control plane machines"
	case key == controlPlaneRole && !controlPlane:
		return "this taint belongs to control plane machines only: use a key of your own for workers"
	case key == outOfService:
		return ""
	case key == clusterv1.NodeUninitializedTaint().Key || key == clusterv1.NodeOutdatedRevisionTaint().Key:
		return "this taint is set and removed by the controllers: use another key"
	case strings.HasPrefix(key, nodeTaintsPrefix):
		return "taints under " + nodeTaintsPrefix + " are set by Kubernetes (except " + outOfService + "): use another key"
	case strings.HasPrefix(key, cloudTaints):
		return "taints under " + cloudTaints + " are set by the cloud provider: use another key"
	}
	return ""
}

// checkTemplateMeta checks the labels and annotations that a template puts on what is made from it.
func checkTemplateMeta(at *field.Path, m clusterv1.ObjectMeta) field.ErrorList {
	errs := metav1validation.ValidateLabels(m.Labels, at.Child("labels"))
	return append(errs, apivalidation.ValidateAnnotations(m.Annotations, at.Child("annotations"))...)
}

// checkSelector checks that a selector is well-formed and selects what the template makes.
func checkSelector(at *field.Path, selector metav1.LabelSelector, template map[string]string) field.ErrorList {
	here := at.Child("selector")
	if len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return field.ErrorList{field.Required(here, "give the labels by which the Machines are found, and the same labels in spec.template.metadata.labels")}
	}
	if errs := checkSelectorSyntax(here, &selector); len(errs) > 0 {
		return errs
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return field.ErrorList{field.Invalid(here, selector, err.Error())}
	}
	if parsed.Matches(labels.Set(template)) {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("template", "metadata", "labels"), template,
		fmt.Sprintf("spec.selector (%s) does not select the Machines made from this template: give them the labels it asks for", parsed))}
}

func checkSelectorSyntax(at *field.Path, selector *metav1.LabelSelector) field.ErrorList {
	if selector == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, at)
}

// checkTemplateCluster checks that a template makes Machines of the same Cluster as its owner.
func checkTemplateCluster(at *field.Path, owner, template string) field.ErrorList {
	if owner == template {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("template", "spec", "clusterName"), template,
		fmt.Sprintf("spec.clusterName is %q and the Machines belong to the same Cluster: write the same name in both", owner))}
}

// keepClusterName checks that an object stays with its Cluster.
func keepClusterName(kind, name, old string) field.ErrorList {
	if name == old {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterName"), name,
		fmt.Sprintf("a %s cannot move from Cluster %q to another: keep the name, or delete it and create one for the other Cluster", kind, old))}
}

func checkReplicas(at *field.Path, replicas *int32) field.ErrorList {
	if replicas == nil || *replicas >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(at, *replicas, "the number of Machines cannot be negative: write 0 or more")}
}

func checkNaming(at *field.Path, text string, owner plan.NameOwner) field.ErrorList {
	if text == "" {
		return nil
	}
	if err := plan.CheckNameTemplate(text, owner); err != nil {
		return field.ErrorList{field.Invalid(at, text, err.Error())}
	}
	return nil
}

// defaultReplicas sets replicas as the autoscaler's annotations ask, or to 1.
func defaultReplicas(replicas **int32, m metadata, old *int32) *field.Error {
	n, err := plan.DefaultReplicas(plan.ReplicaFacts{
		Wanted: *replicas, Existing: old,
		MinSize: m.Annotations[clusterv1.AutoscalerMinSizeAnnotation], MaxSize: m.Annotations[clusterv1.AutoscalerMaxSizeAnnotation],
	})
	if err != nil {
		return field.Invalid(field.NewPath("metadata", "annotations"), field.OmitValueType{}, err.Error())
	}
	*replicas = &n
	return nil
}

// defaultSelector makes a selector and its template's labels agree: without a selector, the owner's name is it; the
// Cluster's name is always part of both. A name that is still to be generated selects nothing; validation then asks for a
// selector.
func defaultSelector(selector *metav1.LabelSelector, template *clusterv1.ObjectMeta, ownerLabel, ownerName, cluster string) {
	empty := len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0
	if empty && ownerName != "" {
		selector.MatchLabels = map[string]string{ownerLabel: plan.LabelValue(ownerName)}
		if template.Labels == nil {
			template.Labels = map[string]string{}
		}
		template.Labels[ownerLabel] = plan.LabelValue(ownerName)
	}
	if !empty || ownerName != "" {
		selector.MatchLabels = withCluster(selector.MatchLabels, cluster)
	}
	template.Labels = withCluster(template.Labels, cluster)
}
