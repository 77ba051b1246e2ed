package webhooks

import clusterv1 "slipway.dev/slipway/api/core/v1beta2"

func clusterClassWebhooks() []Webhook {
	k := kind{version: clusterv1.GroupVersion, singular: "clusterclass", plural: "clusterclasses"}
	return []Webhook{validating(k, changed, validator[struct{}]{
		warn: storedOnly[struct{}]("ClusterClass", "no Cluster can use it; create the Cluster's objects themselves instead"),
	})}
}
