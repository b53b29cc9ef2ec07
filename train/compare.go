package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// ofTheProgram are the settings that may differ when a run is resumed: they say which
// program trains, not what it is to do. The result is then that of a run that was never
// stopped only as far as both programs compute alike.
var ofTheProgram = []string{"go", "platform", "provenance.yardmaster", "provenance.revision"}

// compare returns an error that names each setting in which the configuration differs
// from that of the run to be resumed, as its run.json has it.
func (r *run) compare(was any) error {
	raw, err := json.Marshal(r.cfg.record(r.model.Manifest.Encoder.Version))
	if err != nil {
		return fmt.Errorf("train: %s: %w", runFile, err)
	}
	var now any
	if err := json.Unmarshal(raw, &now); err != nil {
		return fmt.Errorf("train: %s: %w", runFile, err)
	}
	var all []error
	differences("", was, now, func(setting string, was, now any) {
		err := fmt.Errorf("%s was %s, now it is %s", setting, short(was), short(now))
		if slices.Contains(ofTheProgram, setting) {
			r.cfg.Warn(fmt.Errorf("train: resume %s with another program: %w", r.cfg.Dir, err))
			return
		}
		all = append(all, err)
	})
	if len(all) > 0 {
		return fmt.Errorf("%w in %s: %w", errOtherRun, r.cfg.Dir, errors.Join(all...))
	}
	return nil
}

var errOtherRun = errors.New("another run")

// differences reports the settings below name in which two values of JSON differ, in
// ascending order.
func differences(name string, was, now any, report func(name string, was, now any)) {
	a, aOK := was.(map[string]any)
	b, bOK := now.(map[string]any)
	if !aOK || !bOK {
		if !reflect.DeepEqual(was, now) {
			report(name, was, now)
		}
		return
	}
	both := maps.Clone(a)
	maps.Copy(both, b)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		inner := key
		if name != "" {
			inner = name + "." + key
		}
		differences(inner, a[key], b[key], report)
	}
}

// short returns x as JSON, cut where it is long.
func short(x any) string {
	if x == nil {
		return "not set"
	}
	raw, err := json.Marshal(x)
	if err != nil {
		return fmt.Sprint(x)
	}
	if len(raw) > 60 {
		return string(raw[:57]) + "..."
	}
	return string(raw)
}
