package repository

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Version is MAJOR.MINOR.PATCH of semantic versioning. Its zero value is none.
type Version struct{ Major, Minor, Patch int }

// maxNumber bounds each number of a version.
const maxNumber = 999_999_999

var errVersion = errors.New("want a version such as 1.2.3")

// ParseVersion reads the text of a version, which String gives back.
func ParseVersion(text string) (Version, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return Version{}, fmt.Errorf("repository: version is %.32q, %w", text, errVersion)
	}
	var numbers [3]int
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > maxNumber || strconv.Itoa(n) != part {
			return Version{}, fmt.Errorf("repository: version is %.32q, %w", text, errVersion)
		}
		numbers[i] = n
	}
	return Version{numbers[0], numbers[1], numbers[2]}, nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Compare orders versions by their numbers, the oldest first.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// Next returns the version after v: the next minor one, 1.0.0 after none.
func (v Version) Next() Version {
	if v == (Version{}) {
		return Version{1, 0, 0}
	}
	return Version{v.Major, v.Minor + 1, 0}
}

// ID names one version of one model: name/1.2.3 as text.
type ID struct {
	Name    string
	Version Version
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckName reports whether name may be that of a model. It becomes a folder, a
// part of object names and of messages.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("repository: model name is %.80q, want 1 to 64 of A-Z a-z 0-9 _ -", name)
	}
	return nil
}

// ParseID reads name/1.2.3.
func ParseID(text string) (ID, error) {
	name, version, ok := strings.Cut(text, "/")
	if !ok {
		return ID{}, fmt.Errorf("repository: model is %.128q, want name/version such as demo/1.2.3", text)
	}
	if err := CheckName(name); err != nil {
		return ID{}, err
	}
	v, err := ParseVersion(version)
	if err != nil {
		return ID{}, err
	}
	return ID{name, v}, nil
}

func (id ID) String() string { return id.Name + "/" + id.Version.String() }

// IsZero reports whether id names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText implements [encoding.TextMarshaler]; no model is the empty text.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// Latest is the version policy that takes the highest version.
const Latest = "latest"

// Choose returns the version of a model that policy, Latest or a version, asks for
// among versions in ascending order.
func Choose(name, policy string, versions []Version) (Version, error) {
	if len(versions) == 0 {
		return Version{}, fmt.Errorf("%w: no version of %q", ErrNotFound, name)
	}
	if policy == Latest || policy == "" {
		return versions[len(versions)-1], nil
	}
	v, err := ParseVersion(policy)
	if err != nil {
		return Version{}, fmt.Errorf("%w, or %q", err, Latest)
	}
	if slices.Contains(versions, v) {
		return v, nil
	}
	return Version{}, fmt.Errorf("%w: %s/%s, the latest is %s", ErrNotFound, name, v, versions[len(versions)-1])
}
