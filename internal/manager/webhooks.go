package manager

import (
	"context"
	"fmt"
	"net"
	"strconv"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"slipway.dev/slipway/internal/webhooks"
)

const (
	mutatingName   = "slipway-mutating-webhook-configuration"
	validatingName = "slipway-validating-webhook-configuration"
	webhookTimeout = 10
)

func newWebhookServer(opts Options) webhook.Server {
	return webhook.NewServer(webhook.Options{Host: opts.WebhookHost, Port: opts.WebhookPort, CertDir: opts.CertDir})
}

func addWebhooks(mgr ctrl.Manager) {
	for _, w := range webhooks.All(mgr.GetClient()) {
		mgr.GetWebhookServer().Register(w.Path, &admission.Webhook{Handler: w.Handler})
	}
}

// installWebhooks writes the configurations that send objects to our webhooks, if they differ from what is there: the port
// and the CA may change with each start.
func installWebhooks(ctx context.Context, c client.Client, opts Options) error {
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: mutatingName}}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: validatingName}}
	for _, w := range webhooks.All(c) {
		if w.Mutating {
			mutating.Webhooks = append(mutating.Webhooks, mutatingWebhook(w, opts))
		} else {
			validating.Webhooks = append(validating.Webhooks, validatingWebhook(w, opts))
		}
	}
	if err := replace(ctx, c, mutating, &admissionregistrationv1.MutatingWebhookConfiguration{}, func(live client.Object) bool {
		m, ok := live.(*admissionregistrationv1.MutatingWebhookConfiguration)
		return ok && equality.Semantic.DeepEqual(m.Webhooks, mutating.Webhooks)
	}); err != nil {
		return err
	}
	return replace(ctx, c, validating, &admissionregistrationv1.ValidatingWebhookConfiguration{}, func(live client.Object) bool {
		v, ok := live.(*admissionregistrationv1.ValidatingWebhookConfiguration)
		return ok && equality.Semantic.DeepEqual(v.Webhooks, validating.Webhooks)
	})
}

// replace creates or overwrites an object that only the manager writes.
func replace(ctx context.Context, c client.Client, want, live client.Object, same func(client.Object) bool) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(want), live)
	switch {
	case apierrors.IsNotFound(err):
		err = c.Create(ctx, want, client.FieldOwner(kindsManager))
	case err == nil && !same(live):
		want.SetResourceVersion(live.GetResourceVersion())
		err = c.Update(ctx, want, client.FieldOwner(kindsManager))
	}
	if err != nil {
		return fmt.Errorf("install %s: %w", want.GetName(), err)
	}
	return nil
}

func mutatingWebhook(w webhooks.Webhook, opts Options) admissionregistrationv1.MutatingWebhook {
	v := validatingWebhook(w, opts)
	never := admissionregistrationv1.NeverReinvocationPolicy
	return admissionregistrationv1.MutatingWebhook{
		Name: v.Name, ClientConfig: v.ClientConfig, Rules: v.Rules, FailurePolicy: v.FailurePolicy, MatchPolicy: v.MatchPolicy,
		NamespaceSelector: v.NamespaceSelector, ObjectSelector: v.ObjectSelector, SideEffects: v.SideEffects, TimeoutSeconds: v.TimeoutSeconds,
		AdmissionReviewVersions: v.AdmissionReviewVersions, MatchConditions: v.MatchConditions, ReinvocationPolicy: &never,
	}
}

func validatingWebhook(w webhooks.Webhook, opts Options) admissionregistrationv1.ValidatingWebhook {
	url := "https://" + net.JoinHostPort(opts.WebhookHost, strconv.Itoa(opts.WebhookPort)) + w.Path
	scope := admissionregistrationv1.NamespacedScope
	var conditions []admissionregistrationv1.MatchCondition
	if w.Condition != "" {
		conditions = []admissionregistrationv1.MatchCondition{{Name: "worth-asking", Expression: w.Condition}}
	}
	return admissionregistrationv1.ValidatingWebhook{
		Name:         w.Name,
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: opts.CABundle},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: w.Operations,
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{w.Resource.Group}, APIVersions: []string{w.Resource.Version}, Resources: []string{w.Resource.Resource}, Scope: &scope,
			},
		}},
		FailurePolicy: new(admissionregistrationv1.Fail), MatchPolicy: new(admissionregistrationv1.Equivalent),
		SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(webhookTimeout)),
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{}, AdmissionReviewVersions: []string{"v1"}, MatchConditions: conditions,
	}
}
