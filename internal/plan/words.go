package plan

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed bounds the names in one message, so that a message stays readable and does not change with every object of a
// large group.
const maxListed = 5

// NameList returns the names sorted and joined, at most five of them, then how many more there are. Every message that
// names objects goes through it, so that messages are stable and short.
func NameList(names []string) string {
	sorted := slices.Sorted(slices.Values(names))
	if len(sorted) <= maxListed {
		return strings.Join(sorted, ", ")
	}
	return fmt.Sprintf("%s, ... (%d more)", strings.Join(sorted[:maxListed], ", "), len(sorted)-maxListed)
}

// counted returns "1 Machine" or "3 Machines".
func counted[T ~int | ~int32 | ~int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
