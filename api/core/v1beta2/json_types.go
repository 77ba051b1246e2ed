package v1beta2

import "errors"

// errNilJSON is returned when JSON is decoded into a nil receiver.
var errNilJSON = errors.New("decode JSON: receiver is nil")

// JSON holds any JSON value exactly as it was written: an object, a list, a string, a number, a boolean or null.
// The zero value stands for "nothing written" and is encoded as null where the field that holds it is not omitted.
// +kubebuilder:validation:Type=""
// +kubebuilder:pruning:PreserveUnknownFields
type JSON struct {
	// Raw is the text of the value. It is empty when nothing was written.
	Raw []byte `json:"-"`
}

// MarshalJSON returns Raw, or null when Raw is empty.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j.Raw) == 0 {
		return []byte("null"), nil
	}
	return j.Raw, nil
}

// UnmarshalJSON keeps a copy of data in Raw; null leaves Raw empty.
func (j *JSON) UnmarshalJSON(data []byte) error {
	if j == nil {
		return errNilJSON
	}
	if len(data) == 0 || string(data) == "null" {
		j.Raw = nil
		return nil
	}
	j.Raw = append(j.Raw[:0:0], data...)
	return nil
}
