package plane

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	genericapiserver "k8s.io/apiserver/pkg/server"
)

// gate keeps users out until the plane is ready: an object that is admitted before the webhooks answer would miss its
// defaults. The plane's own clients and the health endpoints pass.
type gate struct{ open atomic.Bool }

type chainBuilder = func(http.Handler, *genericapiserver.Config) http.Handler

// wrap puts the gate in front of a handler chain. Requests that carry ownToken are the plane's own.
func (g *gate) wrap(next chainBuilder, ownToken string) chainBuilder {
	own := "Bearer " + ownToken
	return func(h http.Handler, c *genericapiserver.Config) http.Handler {
		chain := next(h, c)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if g.open.Load() || r.Header.Get("Authorization") == own || isHealth(r.URL.Path) {
				chain.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			// A failed write means that the client has gone, which is its own answer.
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503,` +
				`"message":"the management plane is starting; try again in a second","details":{"retryAfterSeconds":1}}`))
		})
	}
}

// check is the readyz check of this name.
func (g *gate) check(*http.Request) error {
	if !g.open.Load() {
		return errors.New("controllers and webhooks are starting")
	}
	return nil
}

func isHealth(path string) bool {
	for _, p := range []string{"/readyz", "/livez", "/healthz"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}
