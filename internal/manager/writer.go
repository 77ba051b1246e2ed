package manager

import (
	"context"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ours begins the field managers of our own controllers; where other tools look for it, they have the Cluster API's.
const ours = "slipway-"

// writer is the key of a context's value that tells which controller sends a request.
type writer struct{}

// signed is a controller's client. Requests to delete have no field manager, so they are signed by their context: metrics and
// traces tell whose they are.
type signed struct {
	client.Client
	name string
}

// Delete deletes an object.
func (c signed) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return c.Client.Delete(context.WithValue(ctx, writer{}, ours+c.name), obj, opts...)
}

// DeleteAllOf deletes all objects of a kind that match.
func (c signed) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	return c.Client.DeleteAllOf(context.WithValue(ctx, writer{}, ours+c.name), obj, opts...)
}

// writerOf is the field manager of a request, or who has signed it; empty when neither is known.
func writerOf(r *http.Request) string {
	if name, ok := r.Context().Value(writer{}).(string); ok {
		return name
	}
	return r.URL.Query().Get("fieldManager")
}
