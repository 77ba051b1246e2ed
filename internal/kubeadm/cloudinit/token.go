package cloudinit

import (
	"path"

	"go.yaml.in/yaml/v3"
)

// JoinToken returns the bootstrap token with which bootstrap data written here has its machine join; empty when there is
// none in it, as in data that starts a control plane or that finds the cluster by a file. It renders no template: a token
// is never part of one.
func JoinToken(data []byte) string {
	var doc struct {
		WriteFiles []struct {
			Path    string `yaml:"path"`
			Content string `yaml:"content"`
		} `yaml:"write_files"`
	}
	if yaml.Unmarshal(data, &doc) != nil {
		return ""
	}
	for _, f := range doc.WriteFiles {
		if path.Clean(f.Path) != JoinConfigPath {
			continue
		}
		var join struct {
			Discovery struct {
				BootstrapToken struct {
					Token string `yaml:"token"`
				} `yaml:"bootstrapToken"`
			} `yaml:"discovery"`
		}
		if yaml.Unmarshal([]byte(f.Content), &join) == nil {
			return join.Discovery.BootstrapToken.Token
		}
	}
	return ""
}
