package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serveSubresource routes what is below an object and is not its status.
func (q *request) serveSubresource() error {
	switch {
	case q.sub == "eviction" && q.verb == "create":
		return q.evict()
	case q.sub == "log" && q.verb == "get":
		return q.podLog()
	case q.sub == "portforward" && (q.verb == "create" || q.verb == "get"):
		return q.portForward()
	case q.sub == "scale":
		return q.scale()
	}
	return q.unsupported()
}

// evict deletes a pod unless a disruption budget forbids it.
func (q *request) evict() error {
	var eviction policyv1.Eviction
	if err := q.decodeBody(&eviction, policyv1.SchemeGroupVersion.WithKind("Eviction")); err != nil {
		return err
	}
	if err := q.place(&eviction); err != nil {
		return err
	}
	o := deleteOptions{dryRun: len(q.query["dryRun"]) > 0}
	if d := eviction.DeleteOptions; d != nil {
		o.grace, o.preconditions = d.GracePeriodSeconds, d.Preconditions
		o.dryRun = o.dryRun || len(d.DryRun) > 0
	}
	for try := 1; ; try++ {
		err := q.evictOnce(o)
		if !errors.Is(err, errMoved) {
			return err
		}
		if try == updateTries {
			return apierrors.NewConflict(q.kind.resource(), q.name, errMoved)
		}
	}
}

// evictOnce decides on the budgets as they are, and deletes only if they are still so.
func (q *request) evictOnce(o deleteOptions) error {
	e := q.store.load(q.kind, objectKey{q.namespace, q.name})
	if e == nil {
		return apierrors.NewNotFound(q.kind.resource(), q.name)
	}
	pod, err := decodeAs[*corev1.Pod](q.kind, e)
	if err != nil {
		return err
	}
	if !ended(pod) {
		budgets, err := q.store.budgetsOf(pod)
		if err != nil {
			return err
		}
		if err := mayEvict(pod, budgets); err != nil {
			return err
		}
		o.guard = q.store.unchanged(budgets)
	}
	if _, _, err := q.store.remove(q.kind, e.key(), o); err != nil {
		return err
	}
	return q.writeJSON(http.StatusCreated, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
}

// ended says that no budget can be hurt by the pod's end.
func ended(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodPending
}

// mayEvict asks the budgets.
func mayEvict(p *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) error {
	if len(budgets) > 1 {
		return apierrors.NewInternalError(errors.New("this pod has more than one PodDisruptionBudget, which the eviction subresource does not support"))
	}
	for _, b := range budgets {
		if !PodReady(p) {
			policy := b.Spec.UnhealthyPodEvictionPolicy
			if policy != nil && *policy == policyv1.AlwaysAllow {
				return nil
			}
			if b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0 {
				return nil
			}
		}
		if b.Status.DisruptionsAllowed <= 0 {
			return budgetExhausted(b)
		}
	}
	return nil
}

func budgetExhausted(b *policyv1.PodDisruptionBudget) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause,
		Message: fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently",
			b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy),
	})
	return err
}

// unchanged returns a guard, called with the store locked, that fails when a budget is no longer as it was.
func (s *Store) unchanged(budgets []*policyv1.PodDisruptionBudget) func() error {
	k := s.catalog.byName["poddisruptionbudgets.policy"]
	return func() error {
		for _, b := range budgets {
			_, e := s.find(k, objectKey{b.Namespace, b.Name})
			if e == nil || strconv.FormatUint(e.rv, 10) != b.ResourceVersion {
				return errMoved
			}
		}
		return nil
	}
}

// scale serves the scale of a Deployment.
func (q *request) scale() error {
	if q.verb == "get" {
		e := q.store.load(q.kind, objectKey{q.namespace, q.name})
		if e == nil {
			return apierrors.NewNotFound(q.kind.resource(), q.name)
		}
		return q.answerScale(e)
	}
	if q.verb != "update" && q.verb != "patch" {
		return q.unsupported()
	}
	o, err := q.writeOptions()
	if err != nil {
		return err
	}
	produce, err := q.scaleProducer()
	if err != nil {
		return err
	}
	e, _, err := q.store.update(q.kind, objectKey{q.namespace, q.name}, o, produce)
	if err != nil {
		return err
	}
	return q.answerScale(e)
}

// scaleProducer reads a Scale, or a patch of one, and puts its replicas into the Deployment.
func (q *request) scaleProducer() (producer, error) {
	proxy := &request{cluster: q.cluster, store: q.store, w: q.w, r: q.r, query: q.query, kind: scaleKind(), gv: scaleGVK.GroupVersion()}
	proxy.attributes = q.attributes
	inner, err := proxy.producer(&writeOptions{})
	if err != nil {
		return nil, err
	}
	return func(live Object) (Object, error) {
		if live == nil {
			return nil, nil
		}
		d := live.(*appsv1.Deployment)
		next, err := inner(scaleOf(d))
		if err != nil {
			return nil, err
		}
		s := next.(*autoscalingv1.Scale)
		if s.Spec.Replicas < 0 {
			return nil, apierrors.NewBadRequest("spec.replicas: must be greater than or equal to 0")
		}
		if s.ResourceVersion != "" {
			d.ResourceVersion = s.ResourceVersion
		}
		d.Spec.Replicas = &s.Spec.Replicas
		return d, nil
	}, nil
}

// scaleKind describes Scale to the patch code. It is never stored.
func scaleKind() *kind {
	return &kind{gvk: scaleGVK, plural: "scale", namespaced: true, make: func() Object { return &autoscalingv1.Scale{} }}
}

// scaleOf shows a Deployment as a Scale.
func scaleOf(d *appsv1.Deployment) *autoscalingv1.Scale {
	s := &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{Kind: "Scale", APIVersion: scaleGVK.GroupVersion().String()},
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name, Namespace: d.Namespace, UID: d.UID, ResourceVersion: d.ResourceVersion, CreationTimestamp: d.CreationTimestamp,
		},
		Status: autoscalingv1.ScaleStatus{Replicas: d.Status.Replicas, Selector: metav1.FormatLabelSelector(d.Spec.Selector)},
	}
	if d.Spec.Replicas != nil {
		s.Spec.Replicas = *d.Spec.Replicas
	}
	return s
}

func (q *request) answerScale(e *entry) error {
	d, err := decodeAs[*appsv1.Deployment](q.kind, e)
	if err != nil {
		return err
	}
	return q.writeJSON(http.StatusOK, scaleOf(d))
}

// podLog streams a container's log.
func (q *request) podLog() error {
	pod, err := Read[*corev1.Pod](q.store, q.podKey())
	if err != nil {
		return err
	}
	opts, err := q.logOptions(pod)
	if err != nil {
		return err
	}
	q.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if q.cluster.hooks.PodLog == nil {
		q.w.WriteHeader(http.StatusOK)
		return nil
	}
	log, err := q.cluster.hooks.PodLog(q.r.Context(), pod, opts)
	if err != nil {
		q.w.Header().Del("Content-Type")
		return apierrors.NewInternalError(fmt.Errorf("log of container %s: %w", opts.Container, err))
	}
	defer func() { _ = log.Close() }() // it was only read
	return quiet(q.stream(log))
}

// stream copies line by line, so that a log that is followed is seen as it comes.
func (q *request) stream(log io.Reader) error {
	lines := bufio.NewReader(log)
	out := http.NewResponseController(q.w)
	for {
		line, err := lines.ReadBytes('\n')
		if _, err := q.w.Write(line); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if err != nil {
			return err
		}
	}
}

// logOptions reads the query and chooses the container.
func (q *request) logOptions(pod *corev1.Pod) (*corev1.PodLogOptions, error) {
	opts := &corev1.PodLogOptions{
		Container: q.query.Get("container"), Follow: q.query.Get("follow") == "true",
		Previous: q.query.Get("previous") == "true", Timestamps: q.query.Get("timestamps") == "true",
	}
	for _, f := range []struct {
		name string
		to   **int64
	}{{"tailLines", &opts.TailLines}, {"limitBytes", &opts.LimitBytes}, {"sinceSeconds", &opts.SinceSeconds}} {
		text := q.query.Get(f.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, apierrors.NewBadRequest(f.name + ": not a number")
		}
		*f.to = &n
	}
	if opts.Container == "" {
		if len(pod.Spec.Containers) != 1 {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s", pod.Name))
		}
		opts.Container = pod.Spec.Containers[0].Name
	}
	for _, c := range append(append([]corev1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		if c.Name == opts.Container {
			return opts, nil
		}
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", opts.Container, pod.Name))
}
