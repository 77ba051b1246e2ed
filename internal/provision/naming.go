package provision

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
)

const (
	// maxDraws is how many names are tried for one Machine. A template with all of .random hardly ever needs a second.
	maxDraws = 50
	// namesRecheck is how soon names are drawn again where so many were taken: those of others may have become free.
	namesRecheck = time.Minute
	// namesTakenReason and nameTemplateReason are the reasons of the stalls for a template that gives taken names alone, and
	// for one that gives none.
	namesTakenReason   = "NamesTaken"
	nameTemplateReason = "NameTemplateInvalid"
)

// Naming says how a Machine is named.
type Naming struct {
	// Namespace is where the Machine is to be; no Machine there may have its name, whoever's.
	Namespace string
	// Facts are the variables of the name template; Random is drawn.
	Facts plan.NameFacts
	// Pick returns a random number from 0 up to, not including, n.
	Pick func(n int) int
}

// Named has make finish the machine that is begun, or where none is, make one under names that are drawn until one is free,
// and returns the name that was tried last. What is begun under a name that was taken meanwhile is discarded.
func (m *Maker) Named(ctx context.Context, begun Orphan, n Naming, make func(Orphan) error) (string, error) {
	if begun.Name != "" {
		err := make(begun)
		if !errors.Is(err, ErrTaken) {
			return begun.Name, err
		}
		if err := begun.Discard(ctx, m.client); err != nil {
			return begun.Name, err
		}
	}
	var name string
	for range maxDraws {
		var err error
		if name, err = n.draw(); err != nil {
			return "", err
		}
		switch taken, err := m.taken(ctx, client.ObjectKey{Namespace: n.Namespace, Name: name}); {
		case err != nil:
			return name, err
		case taken:
			continue
		}
		if err := make(Orphan{Name: name}); !errors.Is(err, ErrTaken) {
			return name, err
		}
	}
	return name, &outcome.Stall{Reason: namesTakenReason, Recheck: namesRecheck,
		Message: fmt.Sprintf("The name template %q gives names that are taken; put {{ .random }} into it as it is, which leaves enough of them", n.Facts.Template)}
}

func (n Naming) draw() (string, error) {
	n.Facts.Random = plan.RandomSuffix(n.Pick)
	name, err := plan.MachineName(n.Facts)
	if err != nil {
		return "", outcome.Stalled(nameTemplateReason, "%s", err)
	}
	return name, nil
}

// taken reports whether the cache shows a Machine of that name. One that it does not show yet is found when the name is
// used.
func (m *Maker) taken(ctx context.Context, key client.ObjectKey) (bool, error) {
	err := m.client.Get(ctx, key, &clusterv1.Machine{}, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get Machine %s: %w", key, err)
	}
	return true, nil
}

// Refusal is what to tell of an object that could not be made. The random name, or the random part of one, is taken out, which would
// else make each try's message another one.
func Refusal(err error, random string) string {
	if stall, ok := outcome.AsStall(err); ok {
		return stall.Message
	}
	return strings.ReplaceAll(err.Error(), random, "<random>")
}
