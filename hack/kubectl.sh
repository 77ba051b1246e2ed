#!/bin/sh
# kubectl.sh DIR: make sure that a kubectl within one minor version of the plane's Kubernetes is at hand. One on the PATH
# will do; else it is built from the same sources as the plane into DIR.
set -eu
dir=$1
want=$(go list -m -f '{{.Version}}' k8s.io/kubernetes | cut -d. -f2)
if [ -x "$dir/kubectl" ]; then
	exit 0
fi
if command -v kubectl >/dev/null; then
	have=$(kubectl version --client -o json 2>/dev/null | sed -n 's/.*"minor": "\([0-9]*\).*/\1/p' | head -n 1)
	if [ -n "$have" ] && [ "$((have - want))" -ge -1 ] && [ "$((have - want))" -le 1 ]; then
		exit 0
	fi
fi
echo "building kubectl" >&2
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
major=1
CGO_ENABLED=0 go build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitMajor=$major -X k8s.io/component-base/version.gitMinor=$want" \
	-o "$dir/kubectl" k8s.io/kubernetes/cmd/kubectl
