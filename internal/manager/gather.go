package manager

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Gather gathers from several registries as from one. The API server and controller-runtime have families of one name that
// differ in their help and labels, such as workqueue_depth, of which prometheus.Gatherers would keep only the first
// registry's. Of metrics with the same labels too, such as the process's, the first is kept.
func Gather(registries ...prometheus.Gatherer) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		var errs []error
		families := map[string]*dto.MetricFamily{}
		for _, registry := range registries {
			more, err := registry.Gather()
			errs = append(errs, err)
			for _, family := range more {
				have, ok := families[family.GetName()]
				if !ok {
					families[family.GetName()] = family
					continue
				}
				if have.GetType() != family.GetType() {
					errs = append(errs, fmt.Errorf("metric %s is both %s and %s", family.GetName(), have.GetType(), family.GetType()))
					continue
				}
				merge(have, family.GetMetric())
			}
		}
		all := make([]*dto.MetricFamily, 0, len(families))
		for _, family := range families {
			all = append(all, family)
		}
		slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
		return all, errors.Join(errs...)
	})
}

// merge adds the metrics whose labels the family does not have.
func merge(family *dto.MetricFamily, metrics []*dto.Metric) {
	seen := map[string]bool{}
	for _, m := range family.GetMetric() {
		seen[labelsOf(m)] = true
	}
	for _, m := range metrics {
		if !seen[labelsOf(m)] {
			family.Metric = append(family.Metric, m)
		}
	}
}

// labelsOf are a metric's labels, which a registry has sorted by name.
func labelsOf(m *dto.Metric) string {
	var text strings.Builder
	for _, l := range m.GetLabel() {
		fmt.Fprintf(&text, "%s=%q,", l.GetName(), l.GetValue())
	}
	return text.String()
}
