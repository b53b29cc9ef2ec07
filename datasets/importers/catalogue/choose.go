package catalogue

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Auto is the name that asks for recognition by content.
const Auto = "auto"

// Request says what is to be imported.
type Request struct {
	// From is the name of a format, or [Auto] or "" for recognition by content.
	From string
	// Table is the kind of table that is wanted, of a format that becomes several;
	// "" for its first, in the order of datasets.Kinds.
	Table  string
	Inputs []importers.Input
}

// Choice is the format chosen for a request.
type Choice struct {
	Format
	// Others are the tables that the inputs could become, besides.
	Others []string
}

// Import imports the inputs of a request, and says as what. The choice is there
// with an error, too, as far as it was made; of a file that is recognised and
// refused it has nothing but the source's name.
func Import(r Request) (Choice, datasets.Table, importers.Report, error) {
	choice, inputs, err := choose(r)
	if err != nil {
		return choice, nil, importers.Report{}, err
	}
	table, report, err := choice.Import(inputs...)
	return choice, table, report, err
}

// choose returns the format for a request and inputs that still give all their
// bytes.
func choose(r Request) (Choice, []importers.Input, error) {
	if len(r.Inputs) == 0 {
		return Choice{}, nil, &datasets.RowError{Value: "no file", Fix: "name the files to import"}
	}
	inputs := slices.Clone(r.Inputs)
	var names []string // that every input can be
	var candidates []Format
	for i := range inputs {
		head, rest, err := importers.Head(inputs[i].Reader)
		if err != nil {
			return Choice{}, nil, fmt.Errorf("%s: %w", inputs[i].Name, err)
		}
		inputs[i].Reader = rest
		found, err := recognise(inputs[i].Name, head, r.From)
		if err != nil {
			return refusedChoice(head, err), nil, err
		}
		if i == 0 {
			names, candidates = namesOf(found), found
			continue
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(namesOf(found), name) })
		candidates = append(candidates, found...)
	}
	if len(names) != 1 {
		return Choice{}, nil, &datasets.RowError{
			File: inputs[0].Name, Value: "the files are of several formats: " + strings.Join(namesOf(candidates), ", "), Fix: "import those of each format by themselves, or say which with --from",
		}
	}
	candidates = slices.DeleteFunc(candidates, func(f Format) bool { return f.Name != names[0] })
	choice, err := pick(candidates, r, inputs[0].Name)
	return choice, inputs, err
}

// refusedChoice names the source of a file that is refused, as far as it is known.
func refusedChoice(head []byte, err error) Choice {
	if refused := Refusal(head); refused != nil && strings.Contains(err.Error(), refused.What) {
		return Choice{Format: Format{Name: refused.Name}}
	}
	return Choice{}
}

// recognise returns the formats that a file can be: those that know its
// beginning, or those of the name asked for, of which the ones that know it if
// any does.
func recognise(file string, head []byte, from string) ([]Format, error) {
	found := Detect(head)
	if from != "" && from != Auto {
		asked := slices.DeleteFunc(Formats(), func(f Format) bool { return f.Name != from })
		if len(asked) == 0 {
			return nil, &datasets.RowError{File: file, Value: "the format " + datasets.Excerpt(from), Fix: "want " + Auto + " or one of " + strings.Join(Names(), ", ")}
		}
		if found = slices.DeleteFunc(found, func(f Format) bool { return f.Name != from }); len(found) == 0 {
			return asked, nil
		}
		return found, nil
	}
	if refused := Refusal(head); refused != nil {
		return nil, refused.Error(file)
	}
	switch names := namesOf(found); len(names) {
	case 0:
		return nil, &datasets.RowError{File: file, Value: "not recognised as any known trace", Fix: "name its format with --from (" + strings.Join(Names(), ", ") + ")"}
	case 1:
		return found, nil
	default:
		return nil, &datasets.RowError{File: file, Value: "could be " + strings.Join(names, " or "), Fix: "say which with --from"}
	}
}

// pick returns the candidate of the table that is wanted.
func pick(candidates []Format, r Request, file string) (Choice, error) {
	kinds := datasets.Kinds()
	var tables []string
	for _, f := range candidates {
		tables = append(tables, f.Table)
	}
	slices.SortFunc(tables, func(a, b string) int { return slices.Index(kinds, a) - slices.Index(kinds, b) })
	tables = slices.Compact(tables)
	want := r.Table
	if want == "" {
		want = tables[0]
	}
	at := slices.IndexFunc(candidates, func(f Format) bool { return f.Table == want })
	if at < 0 {
		return Choice{}, &datasets.RowError{
			File: file, Value: "a file of " + candidates[0].Name + " that holds no " + want + " table", Fix: "want --table " + strings.Join(tables, " or "),
		}
	}
	f := candidates[at]
	if len(r.Inputs) > 1 && !f.Many {
		return Choice{}, &datasets.RowError{
			File: file, Value: fmt.Sprintf("%d files, but a %s trace is one file", len(r.Inputs), f.Name), Fix: "import them one by one",
		}
	}
	return Choice{f, slices.DeleteFunc(tables, func(t string) bool { return t == want })}, nil
}

func namesOf(formats []Format) []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Recognise returns the format that an input is recognised as by content, and
// what refuses it, without importing it.
func Recognise(r io.Reader, name string) (Choice, error) {
	choice, _, err := choose(Request{Inputs: []importers.Input{{Name: name, Reader: r}}})
	return choice, err
}
