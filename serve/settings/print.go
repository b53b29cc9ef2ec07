package settings

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Origin says where a value was given, in words.
func (v *Value) Origin() string {
	if v.Where == "" {
		return string(v.Source)
	}
	return fmt.Sprintf("%s (%s)", v.Source, v.Where)
}

// Print writes every value and where it was given, as a table.
func (r *Resolved) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KEY\tVALUE\tGIVEN BY")
	for _, v := range r.Values {
		fmt.Fprintf(t, "%s\t%s\t%s\n", v.Setting.Key, v.Text, v.Origin())
	}
	return t.Flush()
}

// YAML writes a file that says the same, each key with its meaning. Load reads
// it back as it is.
func (r *Resolved) YAML(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# yaml-language-server: $schema=yardmaster.schema.json\n# (yardmaster config schema > yardmaster.schema.json lets editors check and complete this file)\n")
	section := ""
	for _, v := range r.Values {
		s, indent := v.Setting, ""
		if s.Section() != section {
			section = s.Section()
			fmt.Fprintf(&b, "\n%s:\n", section)
		} else if section == "" {
			b.WriteString("\n")
		}
		_, name, nested := cutLast(s.Key)
		if nested {
			indent = "  "
		}
		fmt.Fprintf(&b, "%s# %s%s\n%s%s:%s\n", indent, s.Doc, bounds(s), indent, name, literal(s, v.Text, indent))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bounds says which values a setting takes, for documentation.
func bounds(s *Setting) string {
	switch {
	case len(s.OneOf) > 0:
		return "; " + alternatives(s.OneOf)
	case s.Min != "" && s.Max != "":
		return fmt.Sprintf("; %s to %s", s.Min, s.Max)
	case s.Min != "":
		return "; at least " + s.Min
	}
	return ""
}

// literal writes a value as YAML, after the colon of its key.
func literal(s *Setting, text, indent string) string {
	switch s.Type() {
	case "string", "duration":
		return " " + quote(text)
	case "list":
		items := split(text)
		for i := range items {
			items[i] = quote(items[i])
		}
		return " [" + strings.Join(items, ", ") + "]"
	case "map":
		if text == "" {
			return " {}"
		}
		var b strings.Builder
		for _, pair := range split(text) {
			key, value, _ := strings.Cut(pair, "=")
			fmt.Fprintf(&b, "\n%s  %s: %s", indent, quote(key), quote(value))
		}
		return b.String()
	}
	return " " + text
}

// quote writes text in YAML's double quotes.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r == '[' || r == ']' || r == '{' || r == '}': // brackets count as nesting
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Table writes all settings as a table in Markdown, for documentation.
func Table(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| key | default | flag | on SIGHUP | meaning |\n|---|---|---|---|---|\n")
	for i := range table {
		s := &table[i]
		value, reload := "", ""
		if s.Default != "" {
			value = "`" + s.Default + "`"
		}
		if s.Reload {
			reload = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `--%s` | %s | %s%s |\n", s.Key, value, s.FlagName(), reload, s.Doc, bounds(s))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
