package apply

import (
	"encoding/json"
	"fmt"
)

// Convert turns an API value into its apply configuration, which then claims what is set in the value. Use it for values
// that the caller made itself: of one that was read, it would claim what others own.
func Convert[C any](value any) (*C, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", value, err)
	}
	out := new(C)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("turn %T into %T: %w", value, out, err)
	}
	return out, nil
}
