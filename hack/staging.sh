#!/bin/sh
# staging.sh rewrites go.mod's replacements of Kubernetes' staging modules. k8s.io/kubernetes requires them at v0.0.0 and
# replaces them by folders of its own, which does not reach those who import it.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^\tk8s.io\/kubernetes v1\.\([0-9.]*\).*/v0.\1/p' go.mod)
[ -n "$version" ] || { echo "staging.sh: go.mod does not require k8s.io/kubernetes" >&2; exit 1; }
file=$(go mod download -json "k8s.io/kubernetes@v1.${version#v0.}" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
for module in $(sed -n 's/^\t\(k8s.io\/[a-z-]*\) => .\/staging.*/\1/p' "$file"); do
	go mod edit -replace "$module=$module@$version"
done
