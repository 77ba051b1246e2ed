package world

import (
	"hash/fnv"
	"strconv"

	"k8s.io/apimachinery/pkg/util/rand"
)

// suffix is a short name for a Pod that belongs to a Node: always the same, so that a Pod made twice is one Pod.
func suffix(node string) string {
	h := fnv.New32a()
	h.Write([]byte(node))
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

func randomSuffix() string { return rand.String(5) }
