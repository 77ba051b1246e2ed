// Package webhooks sets the defaults and refuses the mistakes that a CRD's schema cannot express. One list, All, serves
// both the server and the configurations that send objects to it.
//
// A validating webhook holds an update only to what the update brings: a mistake that the stored object has already, from
// before there was a rule against it, does not stand in the way of changing something else. What a webhook would have
// nothing to say about is not sent to it: each one has a condition that the API server evaluates first.
package webhooks

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Webhook is one admission webhook: which objects go to it, and what handles them.
type Webhook struct {
	// Name is the webhook's fully qualified name, such as validation.cluster.cluster.x-k8s.io.
	Name string
	// Path is the URL path on the webhook server.
	Path string
	// Mutating tells defaulting webhooks from validating ones.
	Mutating bool
	// Resource is the resource, with its subresource after a slash where the webhook is for one.
	Resource schema.GroupVersionResource
	// Operations are what it is asked about.
	Operations []admissionregistrationv1.OperationType
	// Condition is a CEL expression that is true of the requests which go to it; empty for all.
	Condition string
	// Handler answers.
	Handler admission.Handler
}

// All returns every webhook. The reader sees the management cluster, from a cache.
func All(reader client.Reader) []Webhook {
	return slices.Concat(
		clusterWebhooks(),
		clusterClassWebhooks(),
		machineWebhooks(),
		machineSetWebhooks(),
		machineDeploymentWebhooks(),
		machinePoolWebhooks(),
		machineHealthCheckWebhooks(),
		machineDrainRuleWebhooks(),
		kubeadmConfigWebhooks(),
		kubeadmConfigTemplateWebhooks(),
		kubeadmControlPlaneWebhooks(reader),
		kubeadmControlPlaneTemplateWebhooks(),
		simClusterTemplateWebhooks(),
	)
}

// changed is true of new objects and of updates of anything but metadata. The API server raises the generation before it
// asks validating webhooks, not before it asks mutating ones.
const changed = "oldObject == null || object.metadata.generation != oldObject.metadata.generation"

// kind names a kind in the paths and names of its webhooks.
type kind struct {
	version schema.GroupVersion
	// singular and plural are in lower case.
	singular, plural string
}

func (k kind) path(verb string) string {
	return "/" + verb + "-" + strings.ReplaceAll(k.version.Group, ".", "-") + "-" + k.version.Version + "-" + k.singular
}

func defaulting[S any, P copier[S]](k kind, condition string, defaults func(o, old *object[S]) *field.Error) Webhook {
	return Webhook{
		Name: "default." + k.singular + "." + k.version.Group, Path: k.path("mutate"), Mutating: true,
		Resource:   k.version.WithResource(k.plural),
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Condition:  condition, Handler: defaulter[S, P]{defaults: defaults},
	}
}

func validating[S any](k kind, condition string, rules validator[S]) Webhook {
	return Webhook{
		Name: "validation." + k.singular + "." + k.version.Group, Path: k.path("validate"),
		Resource:   k.version.WithResource(k.plural),
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Condition:  condition, Handler: rules,
	}
}
