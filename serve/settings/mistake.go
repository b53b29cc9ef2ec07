package settings

import "fmt"

// Mistake is one thing that is wrong with what was given.
type Mistake struct {
	Where string // file:line, name of the variable or flag
	Key   string // as it was written, "" where it is no key's
	Text  string
}

// Error implements error.
func (m *Mistake) Error() string { return m.Where + ": " + m.Text }

func mistake(where, key, format string, args ...any) *Mistake {
	return &Mistake{where, key, fmt.Sprintf(format, args...)}
}

// Mistakes returns the mistakes that an error of Load joins. What is none, such
// as a file that cannot be read, is one without a place.
func Mistakes(err error) []*Mistake {
	switch e := err.(type) {
	case nil:
		return nil
	case *Mistake:
		return []*Mistake{e}
	case interface{ Unwrap() []error }:
		var all []*Mistake
		for _, one := range e.Unwrap() {
			all = append(all, Mistakes(one)...)
		}
		return all
	}
	return []*Mistake{{Text: err.Error()}}
}
