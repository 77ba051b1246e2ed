#!/bin/sh
# generate.sh writes all code and manifests that follow from the types in api/ and from the controllers' markers:
#
#   api/**/zz_generated.deepcopy.go   DeepCopy methods
#   config/crd/*.yaml                 one CustomResourceDefinition a file
#   config/rbac/role.yaml             what the controllers may do, from their rbac markers
#   internal/applyconfigurations/     bodies for server-side apply
#
# Run it from the root of the repository after every change of a type. It is idempotent: what is committed is fresh if
# `hack/generate.sh && git diff --exit-code` is silent.
set -eu

[ -f hack/generate.sh ] || { echo "generate.sh: run me from the root of the repository" >&2; exit 1; }

apis="core/v1beta2 kubeadm/bootstrap/v1beta2 kubeadm/controlplane/v1beta2 infrastructure/v1alpha1"
root=$(pwd)
bin=$root/bin/tools
# On the same file system as the results, so that each of them is replaced by a rename.
new=$(mktemp -d "$root/.generate.XXXXXX")
trap 'rm -rf "$new"' EXIT INT TERM

mkdir -p "$bin"
(cd hack/tools && GOWORK=off CGO_ENABLED=0 go build -o "$bin/" \
	sigs.k8s.io/controller-tools/cmd/controller-gen \
	k8s.io/code-generator/cmd/applyconfiguration-gen)

set --
packages=
for api in $apis; do
	set -- "$@" "paths=./$api"
	packages="$packages slipway.dev/slipway/api/$api"
done
(cd api && "$bin/controller-gen" object:headerFile="$root/hack/generated.go.txt" \
	crd:crdVersions=v1,headerFile="$root/hack/generated.yaml.txt" output:crd:dir="$new/crd" "$@")

CGO_ENABLED=0 "$bin/controller-gen" rbac:roleName=slipway-controllers,headerFile="$root/hack/generated.yaml.txt" output:rbac:dir="$new/rbac" \
	paths=./internal/controllers/... paths=./internal/providers/...

# The result lands outside api/, which must not import client-go; controller-gen could only write next to the types.
# EnvVar is named because our own type embeds it, and embedding works only with its apply configuration.
# shellcheck disable=SC2086 # a list of packages
"$bin/applyconfiguration-gen" --go-header-file hack/generated.go.txt --output-dir "$new/applyconfigurations" \
	--output-pkg slipway.dev/slipway/internal/applyconfigurations \
	--external-applyconfigurations k8s.io/api/core/v1.EnvVar:k8s.io/client-go/applyconfigurations/core/v1,k8s.io/api/core/v1.EnvVarSource:k8s.io/client-go/applyconfigurations/core/v1 \
	$packages

replace() {
	mkdir -p "$(dirname "$2")"
	[ ! -e "$2" ] || mv "$2" "$new/old-$(basename "$2")"
	mv "$1" "$2"
}
replace "$new/crd" config/crd
replace "$new/rbac" config/rbac
replace "$new/applyconfigurations" internal/applyconfigurations
