#!/bin/sh
# kubectl.sh DIR: make sure that a kubectl within one minor version of the plane's Kubernetes is at hand. One on the PATH
# will do; else it is built from the same sources as the plane into DIR.
set -eu
dir=$1
want=$(go list -m -f '{{.Version}}' k8s.io/kubernetes | cut -d. -f2)
near() { # PROGRAM: succeeds when it is a kubectl within one minor version
	have=$("$1" version --client -o json 2>/dev/null | sed -n 's/.*"minor": "\([0-9]*\).*/\1/p' | head -n 1)
	[ -n "$have" ] && [ "$((have - want))" -ge -1 ] && [ "$((have - want))" -le 1 ]
}
if [ -x "$dir/kubectl" ] && near "$dir/kubectl"; then
	exit 0
fi
if command -v kubectl >/dev/null && near kubectl; then
	exit 0
fi
echo "building kubectl" >&2
CGO_ENABLED=0 go build -ldflags "-s -w $("$(dirname "$0")/versionflags.sh")" -o "$dir/kubectl" k8s.io/kubernetes/cmd/kubectl
