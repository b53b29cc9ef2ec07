//go:build !amd64

package kernel

func best() Level { return Plain }
