package wire

import "reflect"

// Schemas of the operators' messages, whose types are in package admin.
const (
	AdminSchema       = "yardmaster.admin.v1" // the reply of every endpoint
	AdminModelsSchema = "yardmaster.admin-models.v1"
	AdminLoadSchema   = "yardmaster.admin-load.v1"
	AdminKindSchema   = "yardmaster.admin-kind.v1" // of promote, rollback and discard
	AdminModeSchema   = "yardmaster.admin-mode.v1"
)

// Admin is the prefix of the endpoints for operators: package admin.
func (s Subjects) Admin() string { return s.root + "admin" }

// Reader reads messages of type T as strictly as states are read: T is a struct whose
// fields have JSON names, and those without omitempty are required.
type Reader[T any] struct{ node *node }

// NewReader returns a reader of T. It panics on a type that cannot be read.
func NewReader[T any]() Reader[T] { return Reader[T]{compile(reflect.TypeFor[T]())} }

// Read reads a message into to. Its error is an *Error.
func (r Reader[T]) Read(data []byte, to *T) error {
	return decode(data, r.node, reflect.ValueOf(to).Elem())
}
