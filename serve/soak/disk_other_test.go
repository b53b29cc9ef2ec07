//go:build !linux

package soak_test

// prepare has nothing to do: a small or failing disk is a matter of Linux.
func (a address) prepare() error { return nil }
