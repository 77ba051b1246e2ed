package apply

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Refused reports whether the API server has answered, and the answer is no. A time-out or a broken connection leaves
// open whether the object exists.
func Refused(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && status.Status().Code >= 400 && status.Status().Code < 500 && !apierrors.IsTimeout(err)
}
