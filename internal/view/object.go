package view

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// Object is an object of a provider, known by what its contract promises.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Status            struct {
		// Ready is the contract v1beta1's word, Initialization the contract v1beta2's.
		Ready          *bool `json:"ready,omitempty"`
		Initialization struct {
			Provisioned       *bool `json:"provisioned,omitempty"`
			DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
		} `json:"initialization,omitempty"`
		FailureMessage string             `json:"failureMessage,omitempty"`
		Conditions     []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitempty"`
}

// objectOf reads the promised fields of any object.
func objectOf(u *unstructured.Unstructured) (*Object, error) {
	o := &Object{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
		return nil, err
	}
	return o, nil
}

// OfObject returns the status of a provider's object.
func OfObject(o *Object, now time.Time) Status {
	ready := find(o.Status.Conditions, clusterv1.ReadyCondition)
	created := o.CreationTimestamp.Time
	switch {
	case !o.DeletionTimestamp.IsZero():
		return deletion(&o.ObjectMeta, o.Status.Conditions, now)
	case o.Status.FailureMessage != "":
		return Status{State: Failed, Message: Flatten(o.Status.FailureMessage), Since: since(ready, created)}
	case gaveUp(ready):
		return Status{State: Failed, Message: firstText(Flatten(ready.Message), ready.Reason), Since: since(ready, created)}
	case ready.Status == metav1.ConditionTrue, ready.Reason == "" && o.provisioned():
		return Status{State: Ready, Since: since(ready, created)}
	default:
		return late(Status{State: Working, Message: Flatten(ready.Message), Since: since(ready, created)}, expectedReady, now)
	}
}

func (o *Object) provisioned() bool {
	for _, p := range []*bool{o.Status.Ready, o.Status.Initialization.Provisioned, o.Status.Initialization.DataSecretCreated} {
		if p != nil && *p {
			return true
		}
	}
	return false
}
