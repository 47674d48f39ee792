//go:build !linux

package host

func clockSource() string { return "" }

func portRange() (low, high int64, ok bool) { return 0, 0, false }
