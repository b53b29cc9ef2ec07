package wire

import "regexp"

// check reports what is impossible in s.
func (s *State) check() error {
	if err := checkEnvelope(s.Schema, StateSchema, s.Key(), "seq"); err != nil {
		return err
	}
	if err := s.State.Validate(); err != nil {
		path, _ := placeOf(partsOf(err)[0])
		return Errorf(CodeInvalid, path, "%v", err)
	}
	return nil
}

// CheckKey reports whether k can identify a state.
func CheckKey(k Key) error { return checkEnvelope(StateSchema, StateSchema, k, "seq") }

// checkEnvelope checks what all messages have in common. seqName is the JSON
// name of the sequence number.
func checkEnvelope(schema, want string, k Key, seqName string) error {
	if faults := envelopeFaults(schema, want, k, seqName); len(faults) > 0 {
		return faults[0]
	}
	return nil
}

// envelopeFaults returns all that is wrong with what messages have in common.
func envelopeFaults(schema, want string, k Key, seqName string) (faults []*Error) {
	if schema != want {
		faults = append(faults, Errorf(CodeSchema, "schema", "schema is %.64q, want %q", schema, want))
	}
	if err := CheckCluster(k.Cluster); err != nil {
		faults = append(faults, Errorf(CodeInvalid, "cluster", "%v", err))
	}
	if k.Epoch < 1 || k.Epoch > MaxSafeInteger {
		faults = append(faults, Errorf(CodeInvalid, "epoch", "epoch is %d, want 1 to 2^53-1", k.Epoch))
	}
	if k.Seq < 1 || k.Seq > MaxSafeInteger {
		faults = append(faults, Errorf(CodeInvalid, seqName, "%s is %d, want 1 to 2^53-1", seqName, k.Seq))
	}
	return faults
}

// partsOf returns the single errors that env joined, also of what it joined before, at
// least one.
func partsOf(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var parts []error
	for _, part := range joined.Unwrap() {
		parts = append(parts, partsOf(part)...)
	}
	return parts
}

// place matches the errors of env's validators, which begin with where it is, by
// JSON names: TestPlaces holds them to that.
var place = regexp.MustCompile(`(?s)^env: (?:state: )?(?:(cluster): )?(?:(\w+\[\d+\](?:\.\w+)?)(?: \(id -?\d+\))?(?:: (strategies\[\d+\]))?:? )?(.*)$`)

// placeOf splits an error of env.State.Validate into the path of the part that is
// invalid, within the message, and the rest. The path of what concerns the whole
// state is state.
func placeOf(err error) (path, rest string) {
	path, rest = "state", err.Error()
	if m := place.FindStringSubmatch(rest); m != nil {
		for _, step := range m[1:4] {
			if step != "" {
				path += "." + step
			}
		}
		rest = m[4]
	}
	return path, rest
}
