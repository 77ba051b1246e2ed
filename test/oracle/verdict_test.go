package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// judge says what an API server that has a CRD makes of an object.
type judge struct {
	openAPI    *apiextensionsv1.JSONSchemaProps
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// verdict is what an API server makes of one object.
type verdict struct {
	// objections says, sorted, what is refused and where. Wording is left out: it is ours to choose.
	objections []string
	// stored is the object with its defaults and without the fields that the schema does not know.
	stored string
	// lost lists the fields that the schema does not know.
	lost []string
}

func newJudge(t *testing.T, crd map[string]any) *judge {
	t.Helper()
	raw, err := json.Marshal(crdVersion(t, crd, version)["schema"])
	if err != nil {
		t.Fatal(err)
	}
	var published apiextensionsv1.CustomResourceValidation
	if err := json.Unmarshal(raw, &published); err != nil {
		t.Fatalf("decode schema: %v", err)
	}
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(&published, &internal, nil); err != nil {
		t.Fatalf("convert schema: %v", err)
	}
	structural, err := schema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("schema is not structural: %v", err)
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("make validator: %v", err)
	}
	return &judge{
		openAPI:    published.OpenAPIV3Schema,
		structural: structural,
		validator:  validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}
}

// judge takes the steps of an API server at creation: prune, default, validate by schema, by list keys and by rules.
func (j *judge) judge(ctx context.Context, t *testing.T, object map[string]any) verdict {
	t.Helper()
	stored := runtime.DeepCopyJSON(object)
	lost := pruning.PruneWithOptions(stored, j.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.Default(stored, j.structural)
	errs := validation.ValidateCustomResource(nil, stored, j.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, j.structural, stored)...)
	if j.rules != nil {
		broken, _ := j.rules.Validate(ctx, nil, j.structural, stored, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	v := verdict{stored: string(encode(t, stored)), lost: lost}
	for _, err := range errs {
		v.objections = append(v.objections, fmt.Sprintf("%s: %s", err.Field, err.Type))
	}
	slices.Sort(v.objections)
	return v
}

func (v verdict) accepted() bool { return len(v.objections) == 0 && len(v.lost) == 0 }

func (v verdict) String() string {
	if v.accepted() {
		return "accepted as " + v.stored
	}
	return fmt.Sprintf("refused for [%s], losing [%s]", strings.Join(v.objections, "; "), strings.Join(v.lost, "; "))
}

func (v verdict) equals(w verdict) bool {
	return slices.Equal(v.objections, w.objections) && slices.Equal(v.lost, w.lost) && v.stored == w.stored
}
