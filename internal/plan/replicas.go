package plan

import (
	"fmt"
	"strconv"
)

// ReplicaFacts decide the replicas of an object whose spec.replicas may be unset because an autoscaler sets it.
type ReplicaFacts struct {
	// Wanted is spec.replicas as it was sent; nil when unset.
	Wanted *int32
	// Existing is spec.replicas as it is stored; nil for a new object or when unset.
	Existing *int32
	// MinSize and MaxSize are the values of the autoscaler's node group annotations; empty when absent.
	MinSize, MaxSize string
}

// DefaultReplicas returns the replicas to store. With both annotations an unset value keeps the stored one within the
// bounds, or starts at the lower; without them it is 1.
func DefaultReplicas(f ReplicaFacts) (int32, error) {
	if f.Wanted != nil {
		return *f.Wanted, nil
	}
	if f.MinSize == "" || f.MaxSize == "" {
		return 1, nil
	}
	low, err := groupSize("min", f.MinSize)
	if err != nil {
		return 0, err
	}
	high, err := groupSize("max", f.MaxSize)
	if err != nil {
		return 0, err
	}
	if f.Existing == nil || *f.Existing < low {
		return low, nil
	}
	return min(*f.Existing, high), nil
}

func groupSize(which, value string) (int32, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("annotation cluster.x-k8s.io/cluster-api-autoscaler-node-group-%s-size is %q: write a whole number", which, value)
	}
	return int32(n), nil
}
