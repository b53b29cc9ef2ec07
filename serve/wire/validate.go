package wire

import (
	"fmt"

	"github.com/yardmaster/yardmaster/env"
)

// check reports what is impossible in s.
func (s *State) check() error {
	if err := checkEnvelope(s.Schema, StateSchema, s.Key(), "seq"); err != nil {
		return err
	}
	if err := s.State.Validate(); err != nil {
		return Errorf(CodeInvalid, "state"+blame(&s.State), "%v", err)
	}
	return nil
}

// CheckKey reports whether k can identify a state.
func CheckKey(k Key) error { return checkEnvelope(StateSchema, StateSchema, k, "seq") }

// checkEnvelope checks what all messages have in common. seqName is the JSON
// name of the sequence number.
func checkEnvelope(schema, want string, k Key, seqName string) error {
	if schema != want {
		return Errorf(CodeSchema, "schema", "schema is %.64q, want %q", schema, want)
	}
	if err := CheckCluster(k.Cluster); err != nil {
		return Errorf(CodeInvalid, "cluster", "%v", err)
	}
	if k.Epoch < 1 || k.Epoch > MaxSafeInteger {
		return Errorf(CodeInvalid, "epoch", "epoch is %d, want 1 to 2^53-1", k.Epoch)
	}
	if k.Seq < 1 || k.Seq > MaxSafeInteger {
		return Errorf(CodeInvalid, seqName, "%s is %d, want 1 to 2^53-1", seqName, k.Seq)
	}
	return nil
}

// blame returns the path below an invalid state of the first part that is
// invalid by itself, or "" where only the whole is.
func blame(s *env.State) string {
	if s.Cluster.Validate() != nil {
		return ".cluster"
	}
	one := *s
	one.Jobs = nil
	switch {
	case env.ValidateQuotas(s.Quotas, &s.Cluster) != nil:
		return ".quotas"
	case one.Validate() != nil:
		one.Down = nil
		if one.Validate() == nil {
			return ".down"
		}
		return ""
	}
	for i := range s.Jobs {
		one.Jobs = s.Jobs[i : i+1]
		if one.Validate() == nil {
			continue
		}
		for k := range s.Jobs[i].Strategies {
			if s.Jobs[i].Strategies[k].Validate(&s.Cluster) != nil {
				return fmt.Sprintf(".jobs[%d].strategies[%d]", i, k)
			}
		}
		return fmt.Sprintf(".jobs[%d]", i)
	}
	return ""
}
