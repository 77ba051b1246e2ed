package plan

// Tri is a fact that may not be known. Its zero value is Unknown: a fact nobody read is never taken for "no", and what is
// unknown holds back whatever would destroy something.
type Tri int8

// The three values of a fact.
const (
	// Unknown says that the fact could not be read, or was not read.
	Unknown Tri = iota
	// True says that the fact was read and holds.
	True
	// False says that the fact was read and does not hold.
	False
)

// TriOf returns True or False for a fact that was read.
func TriOf(b bool) Tri {
	if b {
		return True
	}
	return False
}

// String returns "Unknown", "True" or "False", as a condition's status is spelled.
func (t Tri) String() string {
	switch t {
	case True:
		return "True"
	case False:
		return "False"
	case Unknown:
		return "Unknown"
	}
	return "Unknown"
}
