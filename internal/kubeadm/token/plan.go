package token

import "time"

// Action says what to do about the token of a machine's bootstrap data.
type Action string

// The actions.
const (
	// Keep means that nothing has to be done now.
	Keep Action = "Keep"
	// Prolong means that the Secret's expiration has to be moved to Decision.Expires.
	Prolong Action = "Prolong"
	// Recreate means that the Secret is gone while the machine still needs it: make it again, with the same token, so
	// that the bootstrap data stays true.
	Recreate Action = "Recreate"
)

// State is what is known about a token.
type State struct {
	// Exists tells whether the cluster still has the token's Secret; Expires is what it says.
	Exists  bool
	Expires time.Time
	// TTL is how long a token lives; zero means DefaultTTL.
	TTL time.Duration
}

// Decision is what to do, why, and when to look again (zero: no need).
type Decision struct {
	Action  Action
	Reason  string
	Expires time.Time
	LookIn  time.Duration
}

// Plan decides about the token of a machine that has no node yet: it is kept alive.
//
// It is prolonged when less than half of its life is left. Looking again after a third leaves at least one look before
// the end, even if one is missed.
func Plan(s State, now time.Time) Decision {
	ttl := s.TTL
	if ttl == 0 {
		ttl = DefaultTTL
	}
	switch {
	case !s.Exists:
		return Decision{Action: Recreate, Reason: "the token is gone and the machine has not joined", Expires: now.Add(ttl), LookIn: ttl / 3}
	case s.Expires.IsZero():
		return Decision{Action: Keep, Reason: "the token does not expire"}
	case s.Expires.Sub(now) < ttl/2:
		return Decision{Action: Prolong, Reason: "the token is about to expire and the machine has not joined", Expires: now.Add(ttl), LookIn: ttl / 3}
	default:
		// Half of the life may be reached before a third has passed: look then, not later.
		return Decision{Action: Keep, Reason: "the token is fresh", LookIn: min(ttl/3, max(s.Expires.Sub(now)-ttl/2, time.Second))}
	}
}
