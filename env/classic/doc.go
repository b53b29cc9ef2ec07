// Package classic has control problems that the field has long used, for testing
// trainers against results that others published.
package classic
