package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// What cobra and strconv say of their own is either nothing, with exit code 0, or
// unreadable.
func TestWrongCommandLinesSayWhatWasMeant(t *testing.T) {
	for line, want := range map[string]string{
		"simulat":                           `yardmaster has no command "simulat": perhaps simulate (see yardmaster --help)`,
		"trace slise jobs.parquet":          `yardmaster trace has no command "slise": perhaps slice (see yardmaster trace --help)`,
		"config xyz":                        `yardmaster config has no command "xyz" (see yardmaster config --help)`,
		"perf shw":                          `perhaps show`,
		"verify gavell":                     `perhaps gavel`,
		"model lst":                         `yardmaster model has no command "lst": perhaps list`,
		"train swep":                        `yardmaster train has no command "swep": perhaps sweep`,
		"agents all":                        `unexpected argument "all" (see yardmaster agents --help)`,
		"trace compare a":                   `B is missing (see yardmaster trace compare --help)`,
		"trace compare a b c":               `unexpected argument "c"`,
		"help trace slise":                  `yardmaster trace has no command "slise": perhaps slice`,
		"bench --polices fifo":              `unknown flag: --polices: perhaps --policies (see yardmaster bench --help)`,
		"bench --zzzzzz":                    `unknown flag: --zzzzzz (see yardmaster bench --help)`,
		"bench --load much":                 `--load is "much", want a number (see yardmaster bench --help)`,
		"bench --seeds 1.5":                 `--seeds is "1.5", want a whole number`,
		"bench --seed -1":                   `--seed is "-1", want a whole number of at least 0`,
		"bench --seed 99999999999999999999": `--seed is 99999999999999999999, which is too large or too small`,
		"bench --round 6":                   `--round is "6", want a time of less than 292 years with its unit, such as 90s`,
		"bench --share two":                 `--share is "two", want whole numbers`,
		"bench --json=perhaps":              `--json is "perhaps", want true or false`,
		"trace split --fractions a,b x":     `--fractions is "a,b", want numbers with commas between them`,
		"solve --job x":                     `--job is "x", want whole numbers`,
		"bench --knowledge all":             `--knowledge: env: knowledge is "all", want oracle, estimate or none`,
	} {
		code, out, err := command(t, strings.Fields(line)...)
		if code != exitUsage || out != "" || !strings.Contains(err, want) || strings.Contains(err, "strconv") {
			t.Errorf("yardmaster %s: exit code %d, stdout %q, stderr %q; want 2, nothing and %q", line, code, out, err, want)
		}
	}
}

// Terminals break long lines in the middle of words.
func TestHelpFitsATerminal(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Long) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 150 { // the longest format of trace import has 140
				t.Errorf("%s: a line of %d characters: %.60s…", c.CommandPath(), n, line)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
	if got := strings.Fields(wrapped(policyNames())); strings.Join(got, " ") != strings.Join(policyNames(), ", ") {
		t.Errorf("names were lost: %q", got)
	}
}

func TestVersionFlag(t *testing.T) {
	if out := mustRun(t, "--version"); !strings.Contains(out, version) {
		t.Errorf("--version prints %q", out)
	}
}

func TestGroupsOfCommandsShowTheirHelp(t *testing.T) {
	for _, line := range []string{"", "trace", "config", "perf", "verify", "help", "help trace", "help trace slice"} {
		if out := mustRun(t, strings.Fields(line)...); !strings.Contains(out, "Usage:") {
			t.Errorf("yardmaster %s: no usage in:\n%s", line, out)
		}
	}
}

func TestVerifyRefusesWhatItWouldNotDo(t *testing.T) {
	for line, want := range map[string]string{
		"verify gavel --data x --every 2":                   "--every goes with --continuous, which is missing",
		"verify gavel --data x --continuous --every 0":      "--every is 0, want at least 1",
		"verify gavel --data x --continuous --max-load -1":  "--max-load is -1, want more than 0 jobs per hour",
		"verify gavel --data x --continuous --max-load NaN": "--max-load is NaN",
	} {
		if code, _, stderr := command(t, strings.Fields(line)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("yardmaster %s: exit code %d, stderr %q; want 2 and %q", line, code, stderr, want)
		}
	}
	dir := t.TempDir()
	if _, _, stderr := command(t, "verify", "pollux", "--data", dir); !strings.Contains(stderr, dir+" holds no workloads of Pollux") {
		t.Errorf("verify pollux: stderr %q", stderr)
	}
}

func TestAgentsAsJSON(t *testing.T) {
	var all []struct{ Name, About string }
	if err := json.Unmarshal([]byte(mustRun(t, "agents", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	table := mustRun(t, "agents")
	for _, p := range all {
		if p.Name == "" || p.About == "" || !strings.Contains(table, p.Name) || !strings.Contains(table, p.About) {
			t.Errorf("%+v is not in the table", p)
		}
	}
	if lines := strings.Count(table, "\n"); lines != len(all) {
		t.Errorf("%d policies in JSON, %d in the table", len(all), lines)
	}
}
