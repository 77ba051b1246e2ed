package workload

import (
	"net/http"
	"sync"

	"k8s.io/kube-openapi/pkg/handler3"
)

// openAPI serves the OpenAPI v3 documents. They are built when the first client asks, for all clusters.
type openAPI struct {
	service func() (*handler3.OpenAPIService, error)
}

func newOpenAPI(sh *shared) *openAPI {
	return &openAPI{service: sync.OnceValues(func() (*handler3.OpenAPIService, error) {
		docs, err := buildDocuments(sh)
		if err != nil {
			return nil, err
		}
		s := handler3.NewOpenAPIService()
		for path, doc := range docs {
			s.UpdateGroupVersion(path, doc)
		}
		return s, nil
	})}
}

// serve answers /openapi/v3….
func (o *openAPI) serve(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Path != "/openapi/v3" && len(r.URL.Path) <= len("/openapi/v3/") {
		return (&request{}).notFoundPath()
	}
	s, err := o.service()
	if err != nil {
		return err
	}
	if r.URL.Path == "/openapi/v3" {
		s.HandleDiscovery(w, r)
		return nil
	}
	s.HandleGroupVersion(w, r)
	return nil
}
