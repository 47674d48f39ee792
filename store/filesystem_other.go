//go:build unix && !linux

package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// sharedFilesystem knows no file system on this platform: sweeps run on Linux.
func sharedFilesystem(string) (string, error) { return "", nil }

// FreeBytes is how much the file system of a folder has left for this user.
func FreeBytes(folder string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", folder, err)
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil
}
