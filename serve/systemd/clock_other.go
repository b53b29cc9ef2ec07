//go:build !linux

package systemd

import "time"

// monotonic returns nothing of use: there is no systemd here.
func monotonic() (time.Duration, error) { return 0, nil }
