// Package webhooks sets the defaults and refuses the mistakes that a CRD's schema cannot express. One list, All, serves
// both the server and the configurations that send objects to it.
package webhooks

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// Handler answers.
	Handler admission.Handler
}

// All returns every webhook. The reader sees the management cluster, from a cache.
func All(_ *runtime.Scheme, _ client.Reader) []Webhook { return nil }
