package plan

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"text/template"
)

const (
	// maxName bounds generated names: they become host names and label values, both of at most 63 characters.
	maxName = 63
	// SuffixLength is the number of random characters at the end of a generated name.
	SuffixLength = 5
	// suffixAlphabet has no vowels and no look-alikes, so that no word and no mix-up comes out of it.
	suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
)

// NameOwner is the kind of owner whose template names Machines, spelled as the template's variable.
type NameOwner string

// The owners that have a name template.
const (
	MachineSetOwner          NameOwner = "machineSet"
	KubeadmControlPlaneOwner NameOwner = "kubeadmControlPlane"
)

// NameFacts are the variables of a name template.
type NameFacts struct {
	// Template is the template; empty takes "{{ .<owner>.name }}-{{ .random }}".
	Template string
	// Cluster is the name of the Cluster.
	Cluster string
	// Owner and OwnerName are the kind and the name of the owner.
	Owner     NameOwner
	OwnerName string
	// Random is a suffix from RandomSuffix.
	Random string
}

// RandomSuffix returns the random part of a generated name. The function pick returns a random number from 0 up to, not
// including, n.
func RandomSuffix(pick func(n int) int) string {
	suffix := make([]byte, SuffixLength)
	for i := range suffix {
		suffix[i] = suffixAlphabet[pick(len(suffixAlphabet))]
	}
	return string(suffix)
}

// MachineName renders a name template. A result of more than 63 characters is cut to 58 and gets the random suffix, so
// that names stay unique.
func MachineName(f NameFacts) (string, error) {
	text := f.Template
	if text == "" {
		text = fmt.Sprintf("{{ .%s.name }}-{{ .random }}", f.Owner)
	}
	parsed, err := template.New("name").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("name template %q: %w", text, err)
	}
	var out strings.Builder
	err = parsed.Execute(&out, map[string]any{
		"cluster":       map[string]any{"name": f.Cluster},
		string(f.Owner): map[string]any{"name": f.OwnerName},
		"random":        f.Random,
	})
	if err != nil {
		return "", fmt.Errorf("name template %q: the variables are .cluster.name, .%s.name and .random: %w", text, f.Owner, err)
	}
	return shorten(out.String(), f.Random), nil
}

// SetName returns the name of a new MachineSet of a MachineDeployment.
func SetName(deployment, random string) string {
	return shorten(deployment+"-"+random, random)
}

func shorten(name, random string) string {
	if len(name) <= maxName {
		return name
	}
	return name[:maxName-SuffixLength] + random
}

var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// randomAction is how a template has to spell its random part: upstream asks for it letter by letter. Other forms, such as
// {{ slice .random 0 1 }}, can leave so few names that Machines find none.
const randomAction = "{{ .random }}"

// CheckNameTemplate returns what is wrong with a name template; nil when it yields valid names that differ with .random.
func CheckNameTemplate(text string, owner NameOwner) error {
	f := NameFacts{Template: text, Cluster: "cluster", Owner: owner, OwnerName: "owner", Random: "bbbbb"}
	first, err := MachineName(f)
	if err != nil {
		return err
	}
	f.Random = "ccccc"
	second, err := MachineName(f)
	if err != nil {
		return err
	}
	if first == second {
		return fmt.Errorf("name template %q gives every Machine the same name: add %s", text, randomAction)
	}
	if text != "" && !strings.Contains(text, randomAction) {
		return fmt.Errorf("name template %q has .random in another form than %s: write it exactly so", text, randomAction)
	}
	if !subdomain.MatchString(first) {
		return fmt.Errorf("name template %q gives names like %q, which Kubernetes does not accept: use lower case letters, digits, '-' and '.' only, and begin and end with a letter or digit", text, first)
	}
	return nil
}

var labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`)

// LabelValue returns the text if it can be the value of a label, else a hash of it that can; the same text always gives
// the same value. Names of owners longer than 63 characters get into labels this way.
func LabelValue(text string) string {
	if len(text) <= maxName && labelValue.MatchString(text) {
		return text
	}
	hash := fnv.New32a()
	hash.Write([]byte(text)) // a hash.Hash never returns an error
	return "hash_" + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)) + "_z"
}
