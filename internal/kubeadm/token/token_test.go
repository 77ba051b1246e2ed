package token_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/kubeadm/token"
)

var now = time.Date(2026, 12, 2, 8, 0, 0, 0, time.UTC)

func TestNew_IsWellFormedAndNeverTheSame(t *testing.T) {
	t.Parallel()
	seen := map[token.Token]bool{}
	for range 1000 {
		tok, err := token.New()
		if err != nil {
			t.Fatal(err)
		}
		again, err := token.Parse(tok.String())
		if err != nil || again != tok || seen[tok] {
			t.Fatalf("token of ID %s: %v, seen %t", tok.ID, err, seen[tok])
		}
		seen[tok] = true
	}
}

func TestParse_RefusesWithoutRepeatingTheSecret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "abcdef", "abcdef.0123456789abcde", "ABCDEF.0123456789abcdef", "abcdef.0123456789abcdef0", "abcdef-0123456789abcdef"} {
		if _, err := token.Parse(text); err == nil || (text != "" && strings.Contains(err.Error(), text)) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestSecret_IsReadBack(t *testing.T) {
	t.Parallel()
	tok := token.Token{ID: "abcdef", Secret: "0123456789abcdef"}
	s := token.NewSecret(tok, "for machine ns/m", now.Add(token.DefaultTTL))
	if s.Namespace != "kube-system" || s.Name != "bootstrap-token-abcdef" || s.Type != "bootstrap.kubernetes.io/token" {
		t.Errorf("secret %s/%s of type %s", s.Namespace, s.Name, s.Type)
	}
	got, err := token.FromSecret(s)
	if err != nil {
		t.Fatal(err)
	}
	want := token.Record{
		Token: tok, Expires: now.Add(15 * time.Minute), Signing: true, Authentication: true,
		Groups: []string{"system:bootstrappers:kubeadm:default-node-token"}, Description: "for machine ns/m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	later, err := token.FromSecret(token.Prolonged(s, now.Add(time.Hour)))
	if err != nil || !later.Expires.Equal(now.Add(time.Hour)) || later.Token != tok {
		t.Errorf("prolonged: %v until %s", err, later.Expires)
	}
	if got.Expired(now) || !got.Expired(now.Add(15*time.Minute)) {
		t.Error("expires at the wrong time")
	}
}

func TestFromSecret_RefusesWhatKubernetesWould(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil func(data map[string][]byte)
	}{
		{"the name and the ID differ", func(d map[string][]byte) { d["token-id"] = []byte("zzzzzz") }},
		{"no secret", func(d map[string][]byte) { delete(d, "token-secret") }},
		{"no time", func(d map[string][]byte) { d["expiration"] = []byte("soon") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := token.NewSecret(token.Token{ID: "abcdef", Secret: "0123456789abcdef"}, "", now)
			tc.spoil(s.Data)
			if _, err := token.FromSecret(s); err == nil {
				t.Error("was read")
			}
		})
	}
}

func TestPlan_KeepsATokenAlive(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		state token.State
		want  token.Action
	}{
		{"fresh", token.State{Exists: true, Expires: now.Add(15 * time.Minute)}, token.Keep},
		{"half of its life is over", token.State{Exists: true, Expires: now.Add(7 * time.Minute)}, token.Prolong},
		{"expired but still there", token.State{Exists: true, Expires: now.Add(-time.Minute)}, token.Prolong},
		{"gone", token.State{}, token.Recreate},
		{"a user's, without an end", token.State{Exists: true}, token.Keep},
		{"a longer life", token.State{Exists: true, Expires: now.Add(20 * time.Minute), TTL: time.Hour}, token.Prolong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := token.Plan(tc.state, now); got.Action != tc.want || got.Reason == "" {
				t.Errorf("%+v, want %s", got, tc.want)
			}
		})
	}
}

// A machine that boots for a long time never meets a dead token, if only the plan's own times are kept.
func TestPlan_NeverLetsANeededTokenExpire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ttl := time.Duration(rapid.IntRange(30, 7200).Draw(t, "ttl")) * time.Second
		at, expires := now, now.Add(ttl)
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			d := token.Plan(token.State{Exists: true, Expires: expires, TTL: ttl}, at)
			switch d.Action {
			case token.Prolong:
				if !d.Expires.After(expires) {
					t.Fatalf("prolonged to %s, which is no later than %s", d.Expires, expires)
				}
				expires = d.Expires
			case token.Keep:
			case token.Recreate:
				t.Fatalf("unexpected %s", d.Action)
			}
			if d.LookIn <= 0 {
				t.Fatal("does not look again")
			}
			// A look may be late by a sixth of the life.
			at = at.Add(d.LookIn + time.Duration(rapid.Int64Range(0, int64(ttl/6)).Draw(t, "late")))
			if !at.Before(expires) {
				t.Fatalf("expired at %s, looked at %s", expires, at)
			}
		}
	})
}
