package kubeadmconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/apply"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
	"slipway.dev/slipway/internal/provision"
)

// Reasons of stalls.
const (
	reasonFormatNotSupported = "FormatNotSupported"
	reasonSecretTaken        = "SecretTaken"
	reasonInvalidConfig      = "InvalidConfiguration"
	reasonDataTooLarge       = "BootstrapDataTooLarge"
	reasonSecretMissing      = "SecretMissing"
)

// act brings the bootstrap data of one machine on.
func (r *Reconciler) act(ctx context.Context, s *scene) error {
	p := plan.Bootstrap(s.facts())
	switch p.Step {
	case plan.WaitForBootstrap:
		return outcome.Waiting(0, p.Reason, "%s", p.Message)
	case plan.KeepData:
		return errors.Join(r.keep(ctx, s), r.unlock(ctx, s))
	case plan.ForgetData:
		s.dataName = s.usedName()
		return r.unlock(ctx, s)
	case plan.MakeInitData:
		return r.start(ctx, s)
	case plan.MakeJoinData:
		return r.join(ctx, s)
	}
	return fmt.Errorf("bootstrap step %d is unknown", p.Step)
}

// usedName is the name of the Secret that a booted machine read.
func (s *scene) usedName() string {
	if name := s.machine.Spec.Bootstrap.DataSecretName; name != nil {
		return *name
	}
	return s.config.Name
}

// start makes the data of the machine that starts the control plane, if that is this one.
func (r *Reconciler) start(ctx context.Context, s *scene) error {
	if err := checkFormat(s); err != nil {
		return err
	}
	if err := r.lock(ctx, s); err != nil {
		return err
	}
	set, err := r.ensureAuthorities(ctx, s)
	if err != nil {
		return err
	}
	data, err := r.initData(ctx, s, set)
	if err != nil {
		return err
	}
	return r.store(ctx, s, data)
}

// join makes the data of a machine that joins. The Secret comes before the token in the workload cluster, so that a
// token is always found again by the data that names it.
func (r *Reconciler) join(ctx context.Context, s *scene) error {
	if err := checkFormat(s); err != nil {
		return err
	}
	data, err := r.joinData(ctx, s)
	if err != nil {
		return err
	}
	return r.store(ctx, s, data)
}

func checkFormat(s *scene) error {
	if f := s.config.Spec.Format; f != "" && f != bootstrapv1.CloudConfig {
		return outcome.Stalled(reasonFormatNotSupported,
			"spec.format is %s, but bootstrap data is written as cloud-config only in this version of Slipway; leave spec.format out and use an image with cloud-init", f)
	}
	return nil
}

// maxData is what the API server takes in one Secret.
const maxData = corev1.MaxSecretSize - 1024

// store creates the Secret with the data.
func (r *Reconciler) store(ctx context.Context, s *scene, value []byte) error {
	if len(value) > maxData {
		return outcome.Stalled(reasonDataTooLarge,
			"The bootstrap data has %d bytes, and a Secret holds %d; shorten spec.files (what contentFrom names counts too), or have the machine fetch large files itself",
			len(value), maxData)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.config.Namespace, Name: s.config.Name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: s.cluster.Name},
			OwnerReferences: []metav1.OwnerReference{ownerOfData(s.config)},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{
			bootstrapv1.DataSecretValueKey: value, bootstrapv1.DataSecretFormatKey: []byte(bootstrapv1.CloudConfig),
		},
	}
	err := r.Client.Create(ctx, secret, client.FieldOwner(fieldManager))
	if apierrors.IsAlreadyExists(err) {
		// The cache lags, or the Secret lacks the label by which it would be there. What exists counts.
		if s.data, err = read(ctx, r.APIReader, client.ObjectKeyFromObject(secret), &corev1.Secret{}); err != nil {
			return err
		}
		if s.data == nil {
			return outcome.Quietly(conflictDelay, "LostRace", "the Secret went away")
		}
		return r.keep(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("create the Secret of %s %s: %w", configKind, client.ObjectKeyFromObject(s.config), err)
	}
	s.data = secret
	return r.publish(ctx, s)
}

func ownerOfData(config *bootstrapv1.KubeadmConfig) metav1.OwnerReference {
	return *metav1.NewControllerRef(config, bootstrapv1.GroupVersion.WithKind(configKind))
}

// keep takes over the Secret that exists.
func (r *Reconciler) keep(ctx context.Context, s *scene) error {
	if err := r.adopt(ctx, s); err != nil {
		return err
	}
	return r.publish(ctx, s)
}

// adopt makes the Secret this KubeadmConfig's own. A Secret of another one is none of ours. One of a former object of
// the same name is remade unless the machine has read it: the garbage collector is after it, and what is in it was made
// for another machine.
func (r *Reconciler) adopt(ctx context.Context, s *scene) error {
	want := ownerOfData(s.config)
	owner := metav1.GetControllerOf(s.data)
	switch {
	case owner == nil && len(s.data.Data[bootstrapv1.DataSecretValueKey]) == 0,
		owner != nil && !apply.SameOwner(*owner, want):
		return &outcome.Stall{Reason: reasonSecretTaken, Recheck: secretRecheck, Message: fmt.Sprintf(
			"Secret %s exists and is not this object's bootstrap data; delete it, or give the machine another name", s.data.Name)}
	case owner != nil && owner.UID != want.UID && !booted(s.machine):
		if err := provision.Remove(ctx, r.Client, s.data); err != nil {
			return err
		}
		return outcome.Quietly(conflictDelay, "SecretReplaced", "the Secret of a former object is being removed")
	}
	labelled := s.data.Labels[clusterv1.ClusterNameLabel] == s.machine.Spec.ClusterName
	if labelled && slices.ContainsFunc(s.data.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == want.UID }) {
		return nil
	}
	adopted := s.data.DeepCopy()
	if _, err := apply.Metadata(ctx, r.Client, fieldManager, adopted, func(m metav1.Object) {
		apply.SetOwner(m, want)
		apply.SetLabel(m, clusterv1.ClusterNameLabel, s.machine.Spec.ClusterName)
	}); err != nil {
		return err
	}
	s.data = adopted
	return nil
}

// publish sees to the token in the data and then lets the data be known: a machine that boots before its token exists
// would fail.
func (r *Reconciler) publish(ctx context.Context, s *scene) error {
	known := s.config.Status.DataSecretName == s.data.Name && isTrue(s.config.Status.Initialization.DataSecretCreated)
	if known || booted(s.machine) {
		s.dataName = s.data.Name
	}
	err := r.keepToken(ctx, s)
	if err == nil || outcome.IsQuiet(err) {
		s.dataName = s.data.Name
	}
	return err
}

// token returns the bootstrap token in the data; empty when there is none that is ours.
func (s *scene) token() string {
	return cloudinit.JoinToken(s.data.Data[bootstrapv1.DataSecretValueKey])
}
