#!/bin/sh
# versionflags.sh prints the linker flags that tell a binary which Kubernetes it contains. A plain go build cannot know: the
# plane and kubectl would call themselves v0.0.0-master, and kubectl could not compare the two.
set -eu
version=$(sed -n 's/^[[:space:]]*k8s\.io\/kubernetes \(v[0-9][^ ]*\)$/\1/p' "$(dirname "$0")/../go.mod" | head -n 1)
minor=${version#v*.}
package=k8s.io/component-base/version
echo "-X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*} -X $package.gitTreeState=clean"
