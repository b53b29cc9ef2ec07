package modelstore

import (
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/models/repository"
)

// object names one content of one version.
type object struct {
	id    repository.ID
	sha12 string
}

func (o object) String() string { return o.id.String() + "+" + o.sha12 }

// parseObject reads <name>/<version>+<sha12>.
func parseObject(text string) (object, error) {
	left, sha12, ok := strings.Cut(text, "+")
	if !ok || len(sha12) != 12 || strings.Trim(sha12, "0123456789abcdef") != "" {
		return object{}, fmt.Errorf("modelstore: object is called %.128q, want name/version+12 hex digits", text)
	}
	id, err := repository.ParseID(left)
	return object{id, sha12}, err
}
