package plan

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// rolloutFields are the fields of a template that only a new Machine can have: all others are changed in place.
type rolloutFields struct {
	Version        string                                     `json:"version"`
	Bootstrap      clusterv1.ContractVersionedObjectReference `json:"bootstrap"`
	DataSecretName *string                                    `json:"dataSecretName"`
	Infrastructure clusterv1.ContractVersionedObjectReference `json:"infrastructure"`
	FailureDomain  string                                     `json:"failureDomain"`
	ClusterName    string                                     `json:"clusterName"`
}

func rolloutFieldsOf(t clusterv1.MachineTemplateSpec) rolloutFields {
	return rolloutFields{
		Version:        NormalizeVersion(t.Spec.Version),
		Bootstrap:      t.Spec.Bootstrap.ConfigRef,
		DataSecretName: t.Spec.Bootstrap.DataSecretName,
		Infrastructure: t.Spec.InfrastructureRef,
		FailureDomain:  t.Spec.FailureDomain,
		ClusterName:    t.Spec.ClusterName,
	}
}

// TemplateDiffers names what in the template of a MachineSet differs from that of its MachineDeployment and needs new
// Machines; none when the set is current. Metadata, readinessGates, minReadySeconds, deletion and taints do not count.
func TemplateDiffers(set, deployment clusterv1.MachineTemplateSpec) []string {
	have, want := rolloutFieldsOf(set), rolloutFieldsOf(deployment)
	var differs []string
	if have.Version != want.Version {
		differs = append(differs, fmt.Sprintf("Version %s, %s required", orNone(have.Version), orNone(want.Version)))
	}
	if have.Bootstrap != want.Bootstrap {
		differs = append(differs, fmt.Sprintf("Bootstrap configuration from %s, %s required", referenceName(have.Bootstrap), referenceName(want.Bootstrap)))
	}
	if secretName(have) != secretName(want) {
		differs = append(differs, fmt.Sprintf("Bootstrap data from Secret %s, %s required", secretName(have), secretName(want)))
	}
	if have.Infrastructure != want.Infrastructure {
		differs = append(differs, fmt.Sprintf("Infrastructure from %s, %s required", referenceName(have.Infrastructure), referenceName(want.Infrastructure)))
	}
	if have.FailureDomain != want.FailureDomain {
		differs = append(differs, fmt.Sprintf("Failure domain %s, %s required", orNone(have.FailureDomain), orNone(want.FailureDomain)))
	}
	if have.ClusterName != want.ClusterName {
		differs = append(differs, fmt.Sprintf("Cluster %s, %s required", orNone(have.ClusterName), orNone(want.ClusterName)))
	}
	return differs
}

// TemplateHash returns a short hash of the fields of a template that need new Machines. It names sets; what decides is
// TemplateDiffers.
func TemplateHash(t clusterv1.MachineTemplateSpec) string {
	text, err := json.Marshal(rolloutFieldsOf(t))
	if err != nil {
		panic(err) // strings alone always encode
	}
	hash := fnv.New32a()
	hash.Write(text) // a hash.Hash never returns an error
	return fmt.Sprintf("%d", hash.Sum32())
}

func secretName(f rolloutFields) string {
	if f.DataSecretName == nil {
		return "none"
	}
	if *f.DataSecretName == "" {
		return "of no data"
	}
	return *f.DataSecretName
}

func referenceName(r clusterv1.ContractVersionedObjectReference) string {
	if !r.IsDefined() {
		return "nothing"
	}
	return r.Kind + " " + r.Name
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
