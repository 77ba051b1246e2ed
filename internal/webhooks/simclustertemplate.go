package webhooks

import infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"

func simClusterTemplateWebhooks() []Webhook {
	k := kind{version: infrav1.GroupVersion, singular: "simclustertemplate", plural: "simclustertemplates"}
	return []Webhook{validating(k, changed, validator[struct{}]{
		warn: storedOnly[struct{}]("SimClusterTemplate", "only a ClusterClass uses it; create a SimCluster instead"),
	})}
}
